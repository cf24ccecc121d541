"""Function words of every language that can be stemmed: the only words an entry may lose.

The lists are short on purpose. A long list drops meaning: "new client" would lose *new*, "up to date" everything.

Those for Danish, Dutch, English, Finnish, French, German, Hungarian, Indonesian, Italian, Norwegian, Portuguese,
Russian, Sesotho, Spanish and Swedish are the lists of the Snowball project (https://snowballstem.org, BSD 3-Clause,
copyright 2001 Martin Porter, copyright 2002 Richard Boulton), without the nouns, numerals and adjectives among them
(Russian *человек*, Hungarian *új*, Spanish *estado*). The others, for which that project has none, hold articles,
pronouns, prepositions, conjunctions, particles and auxiliary verbs, and were written for this library.
"""

from __future__ import annotations

from typing import Final

_LISTS: Final = {
    "ar": """
أما أن أنا أنت أنتم أنه أو أولئك أي أين إذ إذا إلى إما إن إنه اذا التي الذي الذين اللاتي اللذين اللواتي
الى ان انا انت او ب بعض بل به بها بين تكون تلك ثم حتى ذلك سوف على عليه عليها عن عند عندما غير ف في فيه
فيها قد ك كان كانت كانوا كل كما كيف ل لا لقد لكن لم لماذا لن له لها لهم ليس ليست ما متى مع من منذ منه منها
نحن هؤلاء هذا هذه هل هم هن هو هي و يا يكون
""",
    "ca": """
a així això al allò als amb aquell aquella aquelles aquells aquest aquesta aquestes aquests cada com d de
del dels des doncs e el ell ella elles ells els em en encara era eren es esta estan estava està et ets
fins fou ha han has havia he hem hi ho i ja jo l la les li llavors lo los m meu meus meva meves mi molt
més n ni no nos nosaltres nostra nostre nostres o on pel pels per perquè però qual quals quan que qui què
s sa se sense ser seu seus seva seves si sobre som sota sí sóc són t també te teu teus teva teves tu un
una unes uns us va vaig vam van vau vosaltres vostra vostre vostres érem éreu és
""",
    "cs": """
a aby ale ani ano až bez bude budem budeme budete budeš budou budu by bych byl byla byli bylo byly bys být
co což do ho i je jeho jej jejich její jemu jen jenž ještě ji jim jimi jiné jsem jsi jsme jsou jste já jí
k kam kde kdo kdy když ke kterou která které který kteří ku mají mezi mi mne mnou mně mu my má máme máš mé
mít mě můj může na nad naše ne nebo nebyl nebyla není než nic nám námi nás náš o od on ona oni ono po pod
podle pokud pro proto protože proč před přes při s se si sice svou své svůj ta tak také takže tam tebe
tedy ten tento ti to tobě tohle toho tom tomu tu tuto tvůj ty té u už v ve vy vám vámi vás váš z za ze že
""",
    "da": """
ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du
efter eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvis hvor i
ikke ind jeg jer jo kunne man mange med meget men mig min mine mit mod ned noget nogle nu når og også om
op os over på selv sig sin sine sit skal skulle som sådan thi til ud under var vi vil ville vor være været
""",
    "de": """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes anderm
andern anderr anders auch auf aus bei bin bis bist da damit dann das dass dasselbe dazu dein deine deinem
deinen deiner deines dem demselben den denn denselben der derer derselbe derselben des desselben dessen
dich die dies diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch ein eine einem
einen einer eines einig einige einigem einigen einiger einiges einmal er es etwas euch euer eure eurem
euren eurer eures für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr
ihre ihrem ihren ihrer ihres im in indem ins ist jede jedem jeden jeder jedes jene jenem jenen jener jenes
jetzt kann kein keine keinem keinen keiner keines können könnte man manche manchem manchen mancher manches
mein meine meinem meinen meiner meines mich mir mit muss musste nach nicht nichts noch nun nur ob oder
ohne sehr sein seine seinem seinen seiner seines selbst sich sie sind so solche solchem solchen solcher
solches soll sollte sondern sonst um und uns unse unsem unsen unser unses unter viel vom von vor war waren
warst was weil weiter welche welchem welchen welcher welches wenn werde werden wie wieder will wir wird
wirst wo wollen wollte während würde würden zu zum zur zwar zwischen über
""",
    "el": """
ένα ένασ έχει έχεισ έχετε έχουμε έχουν έχω ή ήμασταν ήμουν ήσασταν ήσουν ήταν αλλά αν αντί από ασ αυτά
αυτέσ αυτή αυτήν αυτοί αυτού αυτό αυτόν αυτόσ αυτών αφού για γιατί δεν διότι είμαι είμαστε είναι είσαι
είστε είτε είχα είχαν είχε εγώ εκείνα εκείνεσ εκείνη εκείνο εκείνοι εκείνοσ εμείσ ενόσ ενώ επειδή εσείσ
εσύ η θα κάθε και κατά κι μήτε μία μασ με μετά μη μην μια μιασ μου να ο οι ούτε παρά ποια ποιεσ ποιο ποιοι
ποιοσ πολύ που πριν προσ πωσ σασ σε σου στα στη στην στισ στο στον στουσ τα την τησ τι τισ το τον του τουσ
τού των χωρίσ ωσ ωστόσο όμωσ όπου όπωσ όσο όταν ότι
""",
    "en": """
a about above after again against all am an and any are aren't as at be because been before being below
between both but by can't cannot could couldn't did didn't do does doesn't doing don't down during each
few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers
herself him himself his how how's i i'd i'll i'm i've if in into is isn't it it's its itself let's me more
most mustn't my myself no nor not of off on once only or other ought our ours ourselves out over own same
shan't she she'd she'll she's should shouldn't so some such than that that's the their theirs them
themselves then there there's these they they'd they'll they're they've this those through to too under
until up very was wasn't we we'd we'll we're we've were weren't what what's when when's where where's
which while who who's whom why why's with won't would wouldn't you you'd you'll you're you've your yours
yourself yourselves
""",
    "eo": """
al ankaŭ antaŭ apud aŭ da de do dum ekster el en estas esti estis estos estus ili ilia ilin inter iu iuj
ja jam je jen kaj ke kia kial kie kiel kies kio kiu kiuj kiun kontraŭ kun kvankam la laŭ li lia lin
malgraŭ mi mia min ne nek ni nia nin nu nun ol oni per plej pli plu po por post preter pri pro se sed sen
si sia sin sub super sur tamen tia tial tie tiel tio tiu tiuj tiun tra trans tre tuj unu vi via vin ĉar ĉe
ĉi ĉiu ĉiuj ĉu ĝi ĝia ĝin ĝis ŝi ŝia ŝin
""",
    "es": """
a al algo algunas algunos ante antes como con contra cual cuando de del desde donde durante e el ella
ellas ellos en entre era erais eran eras eres es esa esas ese eso esos esta estaba estabais estaban
estabas estad estamos estando estar estaremos estará estarán estarás estaré estaréis estaría estaríais
estaríamos estarían estarías estas este estemos esto estos estoy estuve estuviera estuvierais estuvieran
estuvieras estuvieron estuviese estuvieseis estuviesen estuvieses estuvimos estuviste estuvisteis
estuviéramos estuviésemos estuvo está estábamos estáis están estás esté estéis estén estés fue fuera
fuerais fueran fueras fueron fuese fueseis fuesen fueses fui fuimos fuiste fuisteis fuéramos fuésemos ha
habida habidas habido habidos habiendo habremos habrá habrán habrás habré habréis habría habríais
habríamos habrían habrías habéis había habíais habíamos habían habías han has hasta hay haya hayamos hayan
hayas hayáis he hemos hube hubiera hubierais hubieran hubieras hubieron hubiese hubieseis hubiesen
hubieses hubimos hubiste hubisteis hubiéramos hubiésemos hubo la las le les lo los me mi mis mucho muchos
muy más mí mía mías mío míos ni no nos nosotras nosotros nuestra nuestras nuestro nuestros o os otra otras
otro otros para pero poco por porque que quien quienes qué se sea seamos sean seas seremos será serán
serás seré seréis sería seríais seríamos serían serías seáis sido siendo sin sobre sois somos son soy su
sus suya suyas suyo suyos sí también tanto te tendremos tendrá tendrán tendrás tendré tendréis tendría
tendríais tendríamos tendrían tendrías tened tenemos tenga tengamos tengan tengas tengo tengáis tenida
tenidas tenido tenidos teniendo tenéis tenía teníais teníamos tenían tenías ti tiene tienen tienes todo
todos tu tus tuve tuviera tuvierais tuvieran tuvieras tuvieron tuviese tuvieseis tuviesen tuvieses tuvimos
tuviste tuvisteis tuviéramos tuviésemos tuvo tuya tuyas tuyo tuyos tú un una uno unos vosotras vosotros
vuestra vuestras vuestro vuestros y ya yo él éramos
""",
    "et": """
aga all alla alles edasi ees ega ehk ei eks enam end enda ennast enne et ette ja jah ju juba just ka kas
keda keegi kelle kellel kellele kes koos kuhu kui kuid kuidas kuna kus küll ma me meid meie meil meile
mida midagi miks mille millel mina mind mingi minu mis mitte mu mul mulle nad nagu need neid neil nemad
nende nii niisama ning no nüüd ole oled oleks olema oleme olen olete oli olid olin olla olnud oma on peale
pole praegu pärast sa seal seda see selle sellel selles sellest sest siia siin siis sina sind sinu su sul
sulle ta tal talle te teda teid teie teil teile tema too vaid vastu veel välja või ära üle
""",
    "eu": """
al anitz arabera asko baina bat batean batek bati batzuei batzuek batzuetan batzuk bera beraiek berau
berauek bere berori beroriek beste bezala da dago dira ditu du dute edo egin ere eta eurak ez gainera gu
gutxi guzti haiei haiek haietan hainbeste hala han handik hango hara hari hark hartan hau hauei hauek
hauetan hemen hemendik hemengo hi hona honek honela honetan honi hor hori horiei horiek horietan horko
horra horrek horrela horretan horri hortik hura izan ni noiz nola non nondik nongo nor nora ze zein zen
zenbait zenbat zer zergatik ziren zituen zu zuek zuen zuten
""",
    "fa": """
آن آنها از است اما او اگر ای ایشان این با باشد باشند بر برای بعد به بود بودند بوده بین تا تو خواهد خواهند
خود دارد دارند داشت داشته در دیگر را روی زیر شد شدند شده شما شود ما من می نه نیز نیست نیستند ها های هر هست
هستم هستند هستیم هم همان همه همین هیچ و وقتی ولی پس پیش چرا چند چه چون چگونه کجا کدام کرد کرده کند کنم
کنند کنیم که یا یک
""",
    "fi": """
ei eivät emme en et ette että he heidän heidät heihin heille heillä heiltä heissä heistä heitä hän häneen
hänelle hänellä häneltä hänen hänessä hänestä hänet häntä itse ja johon joiden joihin joiksi joilla joille
joilta joina joissa joista joita joka joksi jolla jolle jolta jona jonka jos jossa josta jota jotka kanssa
keiden keihin keiksi keille keillä keiltä keinä keissä keistä keitä keneen keneksi kenelle kenellä keneltä
kenen kenenä kenessä kenestä kenet ketkä ketä koska kuin kuka kun me meidän meidät meihin meille meillä
meiltä meissä meistä meitä mihin miksi mikä mille millä miltä minkä minua minulla minulle minulta minun
minussa minusta minut minuun minä missä mistä mitkä mitä mukaan mutta ne niiden niihin niiksi niille
niillä niiltä niin niinä niissä niistä niitä noiden noihin noiksi noilla noille noilta noin noina noissa
noista noita nuo nyt näiden näihin näiksi näille näillä näiltä näinä näissä näistä näitä nämä ole olemme
olen olet olette oli olimme olin olisi olisimme olisin olisit olisitte olisivat olit olitte olivat olla
olleet ollut on ovat poikki se sekä sen siihen siinä siitä siksi sille sillä siltä sinua sinulla sinulle
sinulta sinun sinussa sinusta sinut sinuun sinä sitä tai te teidän teidät teihin teille teillä teiltä
teissä teistä teitä tuo tuohon tuoksi tuolla tuolle tuolta tuon tuona tuossa tuosta tuota tähän täksi
tälle tällä tältä tämä tämän tänä tässä tästä tätä vaan vai vaikka yli
""",
    "fr": """
ai aie aient aies ait as au aura aurai auraient aurais aurait auras aurez auriez aurions aurons auront aux
avaient avais avait avec avez aviez avions avons ayant ayez ayons c ce ceci cela celà ces cet cette d dans
de des du elle en es est et eu eue eues eurent eus eusse eussent eusses eussiez eussions eut eux eûmes eût
eûtes furent fus fusse fussent fusses fussiez fussions fut fûmes fût fûtes ici il ils j je l la le les
leur leurs lui m ma mais me mes moi mon même n ne nos notre nous on ont ou par pas pour qu que quel quelle
quelles quels qui s sa sans se sera serai seraient serais serait seras serez seriez serions serons seront
ses soi soient sois soit sommes son sont soyez soyons suis sur t ta te tes toi ton tu un une vos votre
vous y à étaient étais était étant étiez étions été étée étées étés êtes
""",
    "ga": """
a ach ag agus an aon ar arna as b ba beirt bhúr chuig chun d de do dom don dtí dá faoi faoin faoina fara
gach gan go gur i iad idir in ina ins is le leis lena m mar mo má na nach ná nár ní níor nó os roimh ré sa
seo sin sinn sna sula sé sí thar thart trí tú uaim um ár é í ó ón óna úd
""",
    "hi": """
अगर अपना अपनी अपने आप आपका आपकी आपके इन इनकी इनके इस इसका इसकी इसके इसे उन उनका उनकी उनके उस उसका उसकी
उसके उसे एक और कब कर करता करती करते करना करने कहाँ कहां का कि किया किसी की कुछ के कैसे को कोई कौन क्या
क्यों गई गए गया जाता जाती जाते जिन जिस जिसे जो तक तुम तुम्हारा तुम्हारी तुम्हें तू तो था थी थे द्वारा न
नहीं ने पर बहुत बाद भी मत मुझे में मेरा मेरी मेरे मैं यह या ये रहा रही रहे लिए लेकिन वह वाला वाली वाले वे
सब सभी साथ से हम हमारा हमारी हमारे हमें ही हुआ हुई हुए हूँ हूं है हैं हो होता होती होते
""",
    "hu": """
a abban ahhoz ahogy ahol aki akik akkor alatt amely amelyek amelyekben amelyeket amelyet amelynek ami
amikor amit amolyan amíg annak arra arról az azok azon azonban azt aztán azután azzal azért be belül benne
bár csak de e ebben eddig egy egyes egyetlen egyik egyre egyéb ehhez ekkor el ellen elég elő először előtt
emilyen ennek erre ez ezek ezen ezt ezzel ezért fel felé hanem hiszen hogy hogyan igen ill illetve ilyen
ilyenkor ison itt jól kell kellett keresztül ki kívül között közül legalább legyen lehet lehetett lenne
lenni lesz lett maga magát majd meg mellett mely melyek mert mi mikor milyen minden mindenki mindent
mindig mint mintha mit mivel miért most már más még míg nagyon ne nekem neki nem nincs néha néhány nélkül
olyan ott pedig persze rá s sem semmi sok sokat sokkal szemben szinte talán tehát tovább továbbá ugyanis
után utána vagy vagyis vagyok valaki valami valamint van vannak vele viszont volna volt voltak voltam
voltunk által általában át én éppen és így össze úgy újra ő ők őket
""",
    "hy": """
ամեն այդ այն այնտեղ այո այս այստեղ առանց առաջ արդեն բայց բոլոր դեպի դեռ դու դուք եթե եմ են ես երբ եւ եք է
էի էին էինք էիր էիք էլ էր ըստ թե թեեւ իմ ին ինձ ինչ ինչու ինչպես իր իրենց կամ համար հետ հետո ձեզ ձեր մասին
մեզ մենք մեջ մեր մը մի միայն մինչեւ մոտ նա նաեւ նրա նրան նրանց նրանք շատ ոչ ով որ որը որի որոնց որոնք
որտեղ ու չեմ չեն չէ չի պետք վրա տակ քանի քեզ քո
""",
    "id": """
ada adalah akan aku anda antara apa apabila atau ataupun bagaimana bagi bahwa beberapa begitu beliau belum
bila bisa boleh bukan dalam dan dapat dari daripada demikian dengan di dia hampir hanya harus hingga ia
ialah ini itu jika juga kalau kalian kami kamu karena ke kemudian kepada ketika kita lebih maka maupun
melainkan melalui mereka meskipun namun oleh pada saja sana saya sebagai sebuah secara sedangkan sehingga
selain semua seorang seperti serta seseorang setelah setiap suatu tanpa tapi telah terlalu tersebut tetapi
tidak untuk yaitu yakni yang
""",
    "it": """
a abbia abbiamo abbiano abbiate ad agl agli ai al all alla alle allo anche avemmo avendo avesse avessero
avessi avessimo aveste avesti avete aveva avevamo avevano avevate avevi avevo avrai avranno avrebbe
avrebbero avrei avremmo avremo avreste avresti avrete avrà avrò avuta avute avuti avuto c che chi ci coi
col come con contro cui da dagl dagli dai dal dall dalla dalle dallo degl degli dei del dell della delle
dello di dov dove e ebbe ebbero ebbi ed era erano eravamo eravate eri ero essendo faccia facciamo facciano
facciate faccio facemmo facendo facesse facessero facessi facessimo faceste facesti faceva facevamo
facevano facevate facevi facevo fai fanno farai faranno farebbe farebbero farei faremmo faremo fareste
faresti farete farà farò fece fecero feci fosse fossero fossi fossimo foste fosti fu fui fummo furono gli
ha hai hanno ho i il in io l la le lei li lo loro lui ma mi mia mie miei mio ne negl negli nei nel nell
nella nelle nello noi non nostra nostre nostri nostro o per perché più quale quanta quante quanti quanto
quella quelle quelli quello questa queste questi questo sarai saranno sarebbe sarebbero sarei saremmo
saremo sareste saresti sarete sarà sarò se sei si sia siamo siano siate siete sono sta stai stando stanno
starai staranno starebbe starebbero starei staremmo staremo stareste staresti starete starà starò stava
stavamo stavano stavate stavi stavo stemmo stesse stessero stessi stessimo steste stesti stette stettero
stetti stia stiamo stiano stiate sto su sua sue sugl sugli sui sul sull sulla sulle sullo suo suoi ti tra
tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostre vostri vostro è
""",
    "lt": """
ant apie ar arba aš be bei bet bus buvo būti būtų dar dėl esame esate esi esu iki ir iš jai jam jau jei
jeigu ji jie jiems jis jo jos jums juos jus ją jį jūs jūsų jų kad kai kaip kam kas kiek ko kur kuri kurie
kurio kurios kuris kurių ką man mane mano manęs mes mums mus mūsų ne nebe nei nes net nors nuo nėra o
pagal pas per po prie prieš pro sau save savo su ta tai tam tame tas tau tave tavo te ten tie tik to tos
tu tą tų už va vis visi viso yra į ši šiame šias šie šio šios šis šiuos
""",
    "ne": """
अघि अनि उनको उनले उनी उसको एक कसरी कसले कहाँ कहिले का कि किन की कुनै के केही को गरे गरेको गर्न गर्ने छ छन्
छु छैन छैनन् छौं जब जसको जसले जो त तथा तपाईं तपाईंको तर तल तिमी तिम्रो ती त्यस त्यसको त्यो थिइन् थिए थियो
देखि न नै पछि पनि बाट भए भएको भने भनेर भयो म मलाई मा माथि मेरो मैले यस यसको यी यो र लाई लागि ले वा सँग संग
सबै सम्म साथ हामी हामीले हाम्रो हुने हुन् हुन्छ हो होइन
""",
    "nl": """
aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er
ge geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon
kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over
reeds te tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden wordt zal
ze zelf zich zij zijn zo zonder zou
""",
    "no": """
alle at av bare begge ble blei bli blir blitt både båe da de deg dei deim deira deires dem den denne der
dere deres det dette di din disse ditt du dykk dykkar då eg ein eit eitt eller elles en enn er et ett
etter for fordi fra før ha hadde han hans har hennar henne hennes her hjå ho hoe honom hoss hossen hun hva
hvem hver hvilke hvilken hvis hvor hvordan hvorfor i ikke ikkje ingen ingi inkje inn inni ja jeg kan kom
korleis korso kun kunne kva kvar kvarhelst kven kvi kvifor man mange me med medan meg meget mellom men mi
min mine mitt mot mykje ned no noe noen noka noko nokon nokor nokre nå når og også om opp oss over på
samme seg selv si sia sidan siden sin sine sitt sjøl skal skulle slik so som somme somt så sånn til um upp
ut uten var vart varte ved vere verte vi vil ville vore vors vort vår være vært å
""",
    "pl": """
a aby albo ale ani aż bez bo by być był była było były będzie będą będę ci cię co czy czyli dla do go i
ich im in ja jak jako je jego jej jemu jest jestem jesteś jesteśmy jeszcze jeśli jeżeli już każdy kiedy
kto która które którego której który których którym którzy ku lecz lub ma mają mam mi mnie mną moja moje
mu my mój na nad nam nami nas nasz nasza nasze nawet nic nich nie niego niej nim nimi niż no o od on ona
one oni ono oraz po pod podczas ponieważ poza przed przez przy siebie się skąd sobie swoje swój są ta tak
taka taki takie także tam te tego tej ten też to tobie tu tutaj twoja twoje twój ty tych tylko tym u w wam
wami was wasz wasza wasze we wszystkie wszystko wy z za ze że żeby
""",
    "pt": """
a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele deles depois do
dos e ela elas ele eles em entre era eram essa essas esse esses esta estamos estas estava estavam este
esteja estejam estejamos estes esteve estive estivemos estiver estivera estiveram estiverem estivermos
estivesse estivessem estivéramos estivéssemos estou está estávamos estão eu foi fomos for fora foram forem
formos fosse fossem fui fôramos fôssemos haja hajam hajamos havemos hei houve houvemos houver houvera
houveram houverei houverem houveremos houveria houveriam houvermos houverá houverão houveríamos houvesse
houvessem houvéramos houvéssemos há hão isso isto já lhe lhes mais mas me mesmo meu meus minha minhas
muito na nas nem no nos nossa nossas nosso nossos num numa não nós o os ou para pela pelas pelo pelos por
qual quando que quem se seja sejam sejamos sem serei seremos seria seriam será serão seríamos seu seus
somos sou sua suas são só também te tem temos tenha tenham tenhamos tenho terei teremos teria teriam terá
terão teríamos teu teus teve tinha tinham tive tivemos tiver tivera tiveram tiverem tivermos tivesse
tivessem tivéramos tivéssemos tu tua tuas tém tínhamos um uma você vocês vos à às éramos
""",
    "ro": """
a abia acea aceasta această aceea acei aceia acel acela acele acelea acest acesta aceste acestea acestei
acestor acestui acolo acum adică ai aici al ale alt alta alte altele altul altă alți am apoi ar are asta
astfel asupra atunci atât au avea avem avut aș așa ba ca cam care ce cea ceea cei cel cele celor ceva
chiar ci cine cineva cu cui cum când cât câte câți că căreia cărora căruia către da dacă dar de deasupra
deci decât deja despre deși din dintr dintre doar după ea ei el ele era este eu fi fie fiecare fiind
foarte fost fără iar la le li lor lui mai mereu mult multe multă mulți mă ne nici nimeni nimic niște noi
nostru nouă noștri nu numai o or orice oricum pe pentru peste prea prin până sale sau se spre sub sunt
suntem sunteți să săi său te toate toată tot totul totuși toți tu tuturor un una unde unei unele unii unor
unui unul va voi vom vor vreo vreun vă îi îl îmi împotriva în înainte încă însă într între își îți și ți
""",
    "ru": """
а без более больше будет будто бы был была были было быть в вам вас вдруг ведь во вот впрочем все всегда
всего всех всю вы где да даже для до другой его ее ей ему если есть еще ж же за зачем здесь и из или им
иногда их к кажется как какая какой когда конечно кто куда ли между меня мне много может можно мой моя мы
на над надо наконец нас не него нее ней нельзя нет ни нибудь никогда ним них ничего но ну о об один он она
они опять от перед по под после потом потому почти при про раз разве с сам свою себе себя со совсем так
такой там тебя тем теперь то тогда того тоже только том тот тут ты у уж уже хоть чего чем через что чтоб
чтобы чуть эти этого этой этом этот эту я
""",
    "sr": """
ako ali bez bih bila bili bilo bio biti biće da do dok evo ga gde i ili im iz ja je jer jesam još kad kada
kako koja koje koji kojih kojim koju među mi moj na nad nam nas naš ne nego neka neki neko ni nije nisam
nisu njega njemu njen njih njihov o od on ona one oni ono ova ovaj ovde ovo po pod pored pre preko pri sa
sam samo se sebe si smo ste su sve svi svoj ta taj tako takođe te ti to tog toj tom tu tvoj u uz vam vas
vaš već vi za zato zašto će ćemo ćete ćeš ću čak čiji šta što а ако али без била били било био бити бих
биће вам вас ваш већ ви га где да до док ево за зато зашто и из или им кад када како која које који којим
којих коју међу ми мој на над нам нас наш не него нека неки неко ни нисам нису није о ова овај овде ово од
он она оне они оно по под поред пре преко при са сам само све сви свој се себе си смо сте су та тако
такође там тај твој те ти то тог том тој ту у уз чак чији шта што ја је јер јесам још њега њему њен њих
њихов ће ћемо ћете ћеш ћу
""",
    "st": """
a ba bao be bo bona e ea empa ena eo eona esita feela ha haeba hape ho hobane hona hore jwale ka kahoo
kapa ke la le li lona ma me mme mo na ne ntle o oa re rona sa se seo teng tsa tseo wa ya yeo yona
""",
    "sv": """
alla allt att av blev bli blir blivit de dem den denna deras dess dessa det detta dig din dina ditt du där
då efter ej eller en er era ert ett från för ha hade han hans har henne hennes hon honom hur här i icke
ingen inom inte jag ju kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något
några och om oss på samma sedan sig sin sina sitta själv skulle som så sådan sådana sådant till under upp
ut utan vad var vara varför varit varje vars vart vem vi vid vilka vilkas vilken vilket vår våra vårt än
är åt över
""",
    "ta": """
அங்கு அங்கே அடுத்த அதனால் அதன் அதற்கு அதில் அது அதே அதை அந்த அந்தக் அந்தப் அன்று அல்லது அவன் அவரது அவர்
அவர்கள் அவள் அவை ஆகிய ஆகியோர் ஆகும் இங்கு இங்கே இதனால் இதனை இதன் இதற்கு இதில் இது இதை இந்த இந்தக் இந்தத்
இந்தப் இன்னும் இப்போது இருக்கும் இருந்த இருந்தது இருந்து இவர் இவை உன் உள்ள உள்ளது உள்ளன எந்த என எனக்
எனக்கு எனப்படும் எனவும் எனவே எனினும் எனும் என் என்ன என்னும் என்பது என்பதை என்ற என்று என்றும் எல்லாம் ஏன்
ஒரு ஒரே ஓர் கொண்ட கொண்டு கொள்ள சற்று சில சேர்ந்த தனது தன் தவிர தான் நான் நாம் நீ பற்றி பற்றிய பின் பின்னர்
பிற பிறகு போது போன்ற போல போல் மட்டுமே மட்டும் மற்ற மற்றும் மிக மிகவும் மீது மேலும் மேல் யார் வந்த வந்து
வரும் வரை வரையில் விட விட்டு வேண்டும் வேறு
""",
    "tr": """
acaba ama ancak artık asla aslında bana bazen bazı belki ben beni benim bile bir biraz biri birkaç biz
bize bizi bizim bu buna bunda bundan bunlar bunu bunun burada da daha de değil diye dolayı en eğer gibi
göre hangi hem henüz hep hepsi her herkes hiç ile ise için işte kadar karşı kendi kendine ki kim kime
kimse mi mu mü mı nasıl ne neden nerede nereye niye niçin o olan olarak oldu olduğu olmak olsa olur ona
ondan onlar onlara onları onların onu onun orada oysa pek rağmen sadece sana sen seni senin siz size sizi
sizin tüm var ve veya veyahut ya yani yine yok zaten çok çünkü üzere şimdi şu şuna şunu şöyle
""",
    "yi": """
א אַ אַז אַן אָבער אָדער אָן אבער אויב אויך אויף און אונטער אז איז איך אים אין איר באַ ביז ביי בין ביסט
בײַ דאַן דאָ דאָך דאָס דאס דו די דיך דיר דעם דען דער האָב האָבן האָט האָסט האט וואָס וואס ווו ווי ווייל
וועגן וועט וועל וועלכע וועלן ווען ווער זאָל זי זיי זייַן זיין זיינע זיינען זייער זיך זענען זײַן טאָר יאָ
יעדער מיט מיין מיך מיר מײַן נאָך נאָר נאך נאר ניט נישט פֿאַר פֿון פאר פון צו צום קען קענען
""",
}

PARTICLES: Final = {"en": frozenset({"down", "off", "out", "over", "up"})}
"""Function words that a keyword keeps: *sign off* is not *sign*, *time off* is not *time*."""


def stop_words(language: str) -> frozenset[str]:
    """Return the function words of a language, as written in lower case; empty for a language without a list."""
    return frozenset(_LISTS.get(language, "").split())
