/**
 * Words that tell what a conversation is about, in several languages, one list per axis. Whole words in lower case;
 * Chinese and Japanese entries are pairs of characters, since their words have no spaces around them.
 *
 * A word stands in a list because people use it when they want that kind of work. Nothing here comes from the wording
 * of a benchmark.
 */
import type { Axis } from "../catalog/Model.ts"

/** Signs of hard and of everyday questions, beside the axes. */
export type Sign = Axis | "hard" | "easy"

const words = {
  coding: `code function python javascript typescript java rust golang kotlin c++ c# sql html css react vue api
    bug debug compile compiler error exception stacktrace refactor variable variables array loop regex script
    algorithm implement unit test tests pytest docker kubernetes git commit database query schema endpoint async
    await thread recursion pointer json yaml bash shell linux django flask backend frontend programm funktion
    fehler klasse código función programa clase fonction erreur función программа код функция ошибка 代码 函数
    编程 程序 算法 バグ 関数 コード`,
  math: `math calculate compute sum product equation equations integral derivative theorem lemma proof prove
    algebra geometry calculus probability matrix matrices eigenvalue eigenvalues polynomial triangle angle
    integer integers prime primes modulo solve percent percentage average median variance logarithm sqrt
    fraction arithmetic combinatorics converge converges convergence vector topology bijection abelian
    isomorphic cyclic finite rechne berechne gleichung beweise beweis calcula ecuación demuestra calcule
    équation démontrer интеграл уравнение докажи 计算 方程 证明 积分 概率 矩阵 数学 計算 証明 方程式`,
  reasoning: `why logic logical puzzle riddle deduce infer conclude reasoning step steps therefore assume
    implies paradox strategy tradeoff trade-offs compare evaluate analyze analyse argue argument planning
    constraint constraints prove warum folgere logik rätsel porqué lógica pourquoi logique почему логика 推理
    逻辑 为什么 分析 なぜ 論理`,
  knowledge: `who when where which what history capital country president war century science biology physics
    chemistry medicine medical disease symptom symptoms treatment law legal economics philosophy explain define
    definition meaning theory population planet cell protein king empire geography wer wann wo erkläre
    geschichte quién cuándo dónde explica historia qui quand où explique histoire кто когда где объясни история
    什么 历史 解释 哪个 谁是 歴史 説明`,
  creative: `story poem poetry write novel lyrics song haiku sonnet limerick character fiction scene dialogue
    screenplay plot roleplay imagine creative slogan tagline joke humorous essay blog fantasy narrator gedicht
    geschichte lied erzähle poema cuento canción historia poème conte chanson стих стихотворение рассказ сказка
    故事 诗歌 写一 小说 歌词 物語 小説`,
  instruction: `must exactly format bullet bullets words sentences paragraph paragraphs table markdown list tone
    style rewrite rephrase formal concise shorter email letter template avoid include without only never always
    genau höchstens formatiere exactamente formato exactement liste ровно список 必须 格式 不要 列出 改写`,
  extraction: `extract summarize summarise summary classify categorize label parse identify entities keywords
    csv table columns sentiment tldr zusammenfassung fasse extrahiere resume resumen extrae résumé extraire
    резюме извлеки 总结 提取 摘要 归纳 要約 抽出`,
  reading: `passage article document text below following according context paragraph excerpt report paper
    transcript contract laut folgenden artículo texto siguiente según texte suivant selon текст согласно 下面
    根据 文章 原文 以下 本文`,
  language: `grammar spelling proofread synonym synonyms wording punctuation idiom sentence vocabulary verb noun
    adjective pronunciation etymology correct grammatik rechtschreibung gramática ortografía grammaire
    orthographe грамматика 语法 词语 文法`,
  multilingual: `translate translation übersetze übersetzung traduce traducción traduire traduction traduza
    переведи перевод english german french spanish italian portuguese russian chinese japanese korean arabic
    hindi 翻译 英文 中文 日语 翻訳 英語`,
  agentic: `tool tools browse search fetch open click file files repository repo workflow automate agent execute
    run deploy terminal install step-by-step booking calendar`,
  hard: `prove proof theorem lemma rigorous rigorously derive derivation olympiad asymptotic np-hard np-complete
    complexity distributed concurrency concurrent deadlock consensus lock-free optimal optimize optimise
    optimization architecture scalable eigenvalue eigenvalues manifold topology homomorphism stochastic
    differential quantum cryptography invariant formally counterexample necessary sufficient bijection diagnose
    diagnosis differentialgleichung beweise beweis demuestra démontrer докажи 证明 推导 优化 复杂 証明`,
  easy: `hi hello hey thanks thank please good morning hallo danke hola gracias bonjour merci привет спасибо
    weather capital favorite favourite simple quick short basic recipe name names birthday joke greeting 你好
    谢谢 您好 天气`
} as const satisfies Record<Sign, string>

/** Two code units as one number, so that pairs of characters are looked up without making strings of them. */
export const pairOf = (first: number, second: number): number => first * 0x10000 + second

/** All signs of each word. */
export const lexicon: ReadonlyMap<string, ReadonlyArray<Sign>> = (() => {
  const index = new Map<string, Array<Sign>>()
  // `entries` widens the keys to string; they are the keys of `words`.
  for (const [sign, list] of Object.entries(words) as Array<[Sign, string]>) {
    for (const word of new Set(list.split(/\s+/))) {
      const known = index.get(word)
      if (known === undefined) index.set(word, [sign])
      else known.push(sign)
    }
  }
  return index
})()

/** The entries of two characters that are not ASCII. */
export const pairLexicon: ReadonlyMap<number, ReadonlyArray<Sign>> = new Map(
  [...lexicon]
    .filter(([word]) => word.length === 2 && word.charCodeAt(0) >= 0x3000)
    .map(([word, signs]) => [pairOf(word.charCodeAt(0), word.charCodeAt(1)), signs])
)
