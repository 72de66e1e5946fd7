/** Entries for the patterns of `Phrases.ts`, written for this purpose. */

const list = (text: string): ReadonlyArray<string> => text.replaceAll(/\s+/g, " ").split("; ")

export const slots: Readonly<Record<string, ReadonlyArray<string>>> = {
  tech: list(`Python; JavaScript; TypeScript; Java; Rust; Go; C++; C#; C; PHP; Ruby; Kotlin; Swift; Scala; Haskell;
    Elixir; R; Julia; MATLAB; Bash; PowerShell; SQL; PostgreSQL; MySQL; SQLite; MongoDB; Redis; HTML; CSS;
    Tailwind; React; Vue; Angular; Svelte; Next.js; Node.js; Express; Django; Flask; FastAPI; Spring Boot;
    Laravel; Rails; .NET; Unity; Unreal; Godot; Docker; Kubernetes; Terraform; Ansible; AWS Lambda; Azure;
    GitHub Actions; nginx; Linux; pandas; NumPy; PyTorch; TensorFlow; scikit-learn; OpenCV; Spark; Kafka;
    GraphQL; Excel VBA; Google Sheets; LaTeX; Arduino; Assembly; Verilog; Solidity; Flutter; SwiftUI;
    Android; Electron; three.js; p5.js; d3; Vim; Git; CMake; webpack; Vite; Lua; Roblox; Perl; PyQt;
    tkinter; Jetpack Compose; WPF; Qt; Streamlit; Gradio; Selenium; Playwright; Beautiful Soup; Scrapy;
    XGBoost; Keras; Hugging Face transformers; LangChain; a vector database; an LLM API; word embeddings;
    CUDA; OpenGL; GLSL shaders; Metal; WebAssembly; WordPress; Drupal; Symfony; Shopify; SAP; Odoo; Power
    BI; DAX; Snowflake; BigQuery; Databricks; dbt; Airflow; Prometheus; Grafana; Elasticsearch; RabbitMQ;
    gRPC; protobuf; OAuth; JWT; regex; sed; awk; jq; cron; systemd; ssh; iptables; Samba; a VPN; VLANs; a
    reverse proxy; Apache; ffmpeg; Blender Python; AutoLISP; Excel formulas; Power Query; SAS; Stata;
    Prolog; OCaml; Scheme; F#; Erlang; Dart; Zig; Nim; COBOL; Fortran; GDScript; Luau; Minecraft plugins;
    Discord.js; socket.io; WebSockets; Web Audio; canvas; SVG; jQuery; Bootstrap; Material UI; Redux;
    Prisma; Hibernate; JPA; Entity Framework; LINQ; Pydantic; asyncio; multiprocessing; pytest; Jest;
    Cypress; JUnit; Gherkin; Verilog testbenches`),
  build: list(`parse a large JSON file; read a CSV and group it by month; upload files; authenticate users with OAuth;
    add pagination; cache results; draw a bar chart; scrape a table from a website; resize images; connect
    to a database; run tasks in parallel; handle exceptions; debounce an input; deploy to production; write
    a migration; sort a list of objects; merge two branches; reverse a linked list; validate a form; stream
    a response; schedule a daily job; split a string; mock a dependency; set up logging; center a div; send
    an email; detect collisions; import a module; encrypt a password; read environment variables; animate a
    button; train a classifier; fine-tune a model; plot a histogram; mount a network share; open a port; set
    up a firewall rule; pull the latest image; register a webhook; write to a socket; read sensor data;
    convert a video; batch rename files; flash the firmware; build a chatbot that answers from PDF files;
    index documents; compute embeddings; host a web page; make a modal dialog; make a navbar with a
    dropdown; lazy load images; add dark mode; drag and drop items; export to Excel; join two tables; pivot
    rows into columns; compute a rolling average; find duplicates; calculate a running total; index a table;
    parse command line arguments; unit test a private method; mock the clock; avoid a circular import;
    profile memory; vectorise a loop; write a custom hook; define a trait; use generics; implement an
    interface; overload an operator; package an app; sign a binary; verify a token; rate limit an endpoint`),
  program: list(`function; class; command line tool; web app; REST API; script; game; browser extension; Discord bot;
    todo app; microservice; dashboard; chat server; plugin; parser; compiler; library; login page; landing
    page; macro; data pipeline; neural network; shader; 3D scene; simulation; smart contract; spreadsheet
    formula; makefile`),
  does: list(`sorts users by name; removes duplicates from an array; counts words in a file; returns the n-th prime;
    shows live prices; checks whether a string is a palindrome; downloads videos; renders a rotating cube;
    plays chess; draws a bouncing ball inside a hexagon; watches a folder for changes; converts
    temperatures; manages inventory; compresses images; validates email addresses; visualises sorting
    algorithms; crawls a site; solves sudoku; simulates planets; tracks expenses; has a login form and a
    settings page; supports undo; retries failed requests`),
  error: list(`TypeError: undefined is not a function; NullPointerException; segmentation fault; KeyError: 'id'; cannot
    borrow as mutable; CORS policy error; 404 not found; connection refused; module not found; syntax error
    near; stack overflow; index out of range; permission denied; undefined reference; merge conflict;
    timeout exceeded; memory leak; deadlock; null reference; race condition; failed to compile; undefined
    behaviour; CUDA out of memory`),
  algorithm: list(`binary search; quicksort; Dijkstra's algorithm; a trie; an LRU cache; depth-first search; a hash map;
    dynamic programming for the knapsack problem; merge sort; the sieve of Eratosthenes; A* path finding;
    backpropagation; a red-black tree; a rate limiter; gradient descent; k-means; a priority queue; a
    tokenizer; matrix multiplication`),
  snippet: [
    "```\nfor (let i = 0; i < n; i++) {\n  total += items[i].price;\n}\n```",
    "def f(xs):\n    return [x * 2 for x in xs if x > 0]",
    "SELECT u.name, COUNT(*) FROM orders o JOIN users u ON u.id = o.user_id GROUP BY u.name;",
    '```python\nimport requests\nr = requests.get(url)\nprint(r.json()["id"])\n```',
    "#include <vector>\nint main() {\n  std::vector<int> v;\n  return v.at(0);\n}",
    "const [state, setState] = useState(null);\nuseEffect(() => { load().then(setState) }, [])",
    "public static void main(String[] args) { System.out.println(args[1]); }",
    'fn main() {\n    let s = String::from("a");\n    take(s);\n    println!("{}", s);\n}',
    '<div class="row"><span id="a"></span></div>',
    "while read -r line; do echo \"$line\" | awk '{print $2}'; done < log.txt",
    "ALTER TABLE users ADD COLUMN age INT NOT NULL DEFAULT 0;"
  ],
  number: list(
    "2; 3; 4; 5; 6; 7; 8; 9; 10; 12; 15; 18; 20; 24; 25; 30; 37; 40; 48; 60; 75; 96; 100; 120; 144; 250; 1,000"
  ),
  operation: list("+; -; *; /; plus; minus; times; divided by; percent of; to the power of; modulo"),
  equation:
    list(`2x + 5 = 17; x^2 - 5x + 6 = 0; 3x - 2y = 7; x + y = 10; e^x = 3x; |x - 4| < 3; \\sin x = 1/2; $x^3 - 3x
    + 1 = 0$; log(x) + log(x - 3) = 1; 5(x - 2) = 3x + 8; x^2 + y^2 = 25; \\frac{x}{3} + \\frac{1}{2} = 4`),
  expression: list(`x^2 e^x; sin(x)/x; \\frac{1}{1+x^2}; ln(x^2 + 1); (x + 1)^5; sqrt(4 - x^2); 3x^4 - 2x + 7; x ln x;
    \\sqrt{x} + \\frac{1}{x}; tan(2x); \\int_0^1 x^n dx; \\sum_{k=1}^n k^2; |2x - 3|`),
  mathObject: list(`derivative; integral; limit; roots; determinant; eigenvalues; inverse; maximum; domain and range;
    remainder; greatest common divisor; slope; standard deviation; expected value; Taylor series;
    asymptotes; factorization`),
  theorem: list(`the square root of 2 is irrational; there are infinitely many primes; every finite group of prime order
    is cyclic; the sum of two even numbers is even; a continuous function on a closed interval attains its
    maximum; n^3 - n is divisible by 6; the harmonic series diverges; every convergent sequence is bounded;
    0.999... = 1`),
  event: list(`rolling two sixes in a row; drawing three red balls from an urn with 5 red and 7 blue balls; getting at
    least one head in four coin flips; two people of 23 sharing a birthday; drawing an ace from a deck`),
  arrange: list(`seat 6 people around a table; choose 3 books out of 10; arrange the letters of BANANA; colour a cube
    with two colours; climb 12 stairs by ones and twos; split 8 players into two teams`),
  detail: list(`Use only the standard library.; It must run on Windows.; Add comments.; Keep it under 50 lines.; Return
    JSON.; Handle missing values.; The file has about 2 million rows.; Do not use recursion.; I am a
    beginner.; Show the full code.; It should be thread safe.; Use async and await.; Write clean, idiomatic
    code.`),
  wish: list(`Make the tone bittersweet.; Use the first person.; Add as much dialogue as you can.; Around 800 words.;
    End on a cliffhanger.; Describe the setting in vivid detail.; Do not rush the ending.; Show, don't
    tell.; The main character is stubborn but kind.; Include a plot twist.; Make it rhyme.; Keep it family
    friendly.; Write in the present tense.; Focus on their feelings.; Give it a title.; The villain should
    be sympathetic.; Each paragraph should begin with a sound.; Use humour and irony.; Let the city feel
    like a character of its own.; They slowly fall in love.; Add small gestures and inner thoughts.; It
    takes place in winter, in the 1890s.`),
  country: list(`Australia; Brazil; Canada; Denmark; Egypt; France; Germany; Hungary; India; Japan; Kenya; Laos; Mexico;
    Norway; Oman; Peru; Qatar; Romania; Spain; Thailand; Uruguay; Vietnam; Wales; Zambia`),
  name: list(
    "Anna; Ben; Carlos; Dmitri; Emma; Fatima; George; Hana; Ivan; Julia; Kofi; Lena; Maria; Noah; Olga; Priya; Tom"
  ),
  things: list(`apples; pencils; tickets; shirts; books; cookies; marbles; bottles; shoes; headphones; stamps; lamps;
    cups; flowers; batteries; chairs; notebooks; coins; candles; bicycles`),
  form: list(`poem; short story; haiku; sonnet; limerick; fairy tale; song; rap; ballad; fable; monologue; letter;
    diary entry; screenplay scene; ghost story; bedtime story; love letter; satire; parody; essay; speech;
    flash fiction; myth; eulogy; travel blog; toast; advertisement; slogan; villanelle; space opera`),
  theme: list(`a lighthouse keeper; the sea at night; lost love; autumn leaves; a talking cat; loneliness in a big
    city; the last train home; friendship; a dragon who fears fire; growing old; a forgotten library; the
    first snow; war and peace; an old photograph; a robot who learns to dream; rain on a tin roof; coffee;
    my grandmother's garden; a haunted hotel; time travel; a broken clock; betrayal; the stars; a secret
    recipe; a village without shadows; mountains; hope; die Liebe; der Herbst; el mar; la libertad; l'amour;
    la mer; 春天; 月亮; 故乡; 孤独; осень; море; 友情; 桜`),
  plot: list(`a detective wakes up without memory; two sisters inherit a cursed house; the sun does not rise one
    morning; an old knight must train a thief; a scientist falls in love with her invention; the king is
    secretly a dragon; a boy finds a door in the forest; strangers are trapped in an elevator; an astronaut
    receives a letter from home; a witch opens a bakery in a small town; rivals must share a room at a
    school for magic; the city floats above the clouds; a pirate captain retires; a spy has one hour left;
    the museum's statues come alive at night; the harvest failed again; the company moved its office to
    another town; the meeting was postponed because of the storm; the team won the final`),
  character: list(`a sarcastic wizard; Sherlock Holmes; a tired detective; a vampire queen; a medieval knight; an alien
    ambassador; a pirate; a shy librarian; a retired superhero; a talking raven; a noir private eye; an
    elven archer; a ghost; a cyberpunk hacker; a village healer; a demon lord; my landlord; the mayor; a
    customer; a rebel princess; Batman`),
  author: list(`Edgar Allan Poe; Shakespeare; Jane Austen; Hemingway; Dr. Seuss; Tolkien; Kafka; Douglas Adams; Borges;
    a 1920s newspaper; Greek tragedy; a fairy tale; H. P. Lovecraft; Terry Pratchett`),
  genre: list(`fantasy; science fiction; horror; romance; mystery; thriller; historical; dystopian; comedy; western;
    noir; young adult; superhero; fairy tale; steampunk`),
  mood: list(`funny; melancholic; dark; hopeful; eerie; romantic; whimsical; dramatic; lyrical; sarcastic;
    heartwarming; epic; suspenseful; nostalgic; gritty; cheerful`),
  topic: list(`photosynthesis; the French Revolution; inflation; black holes; the immune system; machine learning; the
    stock market; climate change; quantum entanglement; yoga; the Roman Empire; blockchain; vaccines; supply
    and demand; DNA; the water cycle; a balanced diet; meditation; World War II; the human heart; marketing;
    electric cars; jazz; Buddhism; the solar system; nuclear energy; plate tectonics; the Cold War;
    copyright law; diabetes; volcanoes; the Renaissance; the gold standard; sleep; interest rates;
    existentialism; the silk road; antibiotics; semiconductors; growing tomatoes; a startup; project
    management; learning a language; running a marathon; public transport; remote work; gentrification; the
    electoral college; tax deductions; home insulation; vitamin D; the Industrial Revolution; coral reefs;
    game theory; die Photosynthese; la inflación; la gravité; 光合作用; 通货膨胀; фотосинтез; 相対性理論`),
  puzzle: list(`Three people stand in a row; exactly one of them always lies, and the one on the left says the middle
    one lies.; All cats are animals and some animals sleep, but no sleeping animal hunts.; Anna is taller
    than Ben, Ben is taller than Carl, and Dana is shorter than Carl.; A man lives on the tenth floor but
    takes the elevator only to the seventh.; Five houses in a row have different colours; the green house is
    left of the white one.; If it rains the match is cancelled, and the match was not cancelled.; A farmer
    must cross a river with a wolf, a goat and a cabbage.; Yesterday was two days before Friday, and
    tomorrow my sister leaves.; There are two doors and two guards, one of whom always tells the truth.;
    甲、乙、丙三人中只有一个人说真话。`),
  language:
    list(`German; French; Spanish; Italian; Japanese; Chinese; Korean; Russian; Arabic; Hindi; Portuguese; Dutch;
    Turkish; Polish; Swahili; Latin; Greek; Vietnamese; inglés; alemán`)
}
