/**
 * What people write around what they want, in several languages. Those that training adds and those that evaluation
 * adds are different, or the evaluation would measure memory.
 */

export interface Wrappers {
  readonly greets: ReadonlyArray<string>
  readonly asks: ReadonlyArray<string>
  readonly ends: ReadonlyArray<string>
}

const lines = (text: string): ReadonlyArray<string> => text.split("\n").map((line) => line.trim())

export const trainingWrappers: Wrappers = {
  greets: lines(`Hi!
    Hello,
    Hey,
    Hi there.
    Dear assistant,
    Good evening.
    Hello, I hope you are well.
    Hallo,
    Hola,
    Bonjour,
    Ciao,
    Olá,
    你好，
    Здравствуйте,
    こんにちは。
    안녕하세요.`),
  asks: lines(`Please help me with the following.
    Answer this question:
    Question:
    Q:
    Task:
    Problem:
    Input:
    Prompt:
    I have a question for you.
    Could you take a look at this?
    Can you help?
    Consider the following task carefully.
    Read this and respond.
    Respond to the request below.
    The following is taken from a user. Reply as well as you can.
    You will be given a question. Answer it.
    You are a helpful assistant. Please respond to this message.
    As an expert, please solve this.
    I need your help with something:
    Let me know the answer to the following:
    My question is this.
    Please give me your best answer to the problem below.
    Choose the correct answer.
    Work on this for me, please.
    Below is an instruction. Write a response that completes it.
    What would you reply to this?
    This is what I need.
    Here is a task:
    Here's the question I was given:
    I was asked this and do not know what to say.
    Try to do this one.
    Please read carefully and then answer.
    Do your best on the following.
    Bitte beantworte die folgende Frage.
    Kannst du mir dabei helfen?
    Hier ist meine Frage:
    Löse bitte diese Aufgabe:
    Ich brauche Hilfe bei dieser Sache.
    Por favor, responde a lo siguiente:
    Tengo una pregunta:
    Ayúdame con esta tarea, por favor.
    Necesito que resuelvas esto.
    Réponds à la question suivante :
    Peux-tu m'aider avec ceci ?
    J'ai besoin d'une réponse à cette question :
    Rispondi alla seguente domanda:
    Aiutami con questo compito.
    Responda à pergunta a seguir:
    Preciso de ajuda com isto:
    Beantwoord de volgende vraag:
    Lütfen aşağıdaki soruyu cevaplayın:
    请回答下面的问题。
    请帮我完成这个任务：
    我有一个问题：
    Ответь, пожалуйста:
    Помоги мне с этим вопросом.
    Реши следующую задачу:
    次の質問に答えてください。
    これを手伝ってください。
    다음 질문에 답해 주세요.
    من فضلك أجب عن السؤال التالي:
    कृपया इस प्रश्न का उत्तर दें:`),
  ends: lines(`Thanks in advance!
    Thank you.
    Thanks!
    Answer:
    A:
    Response:
    Please reply in a helpful way.
    Give only the answer.
    Explain briefly how you got there.
    Think step by step.
    Let's think about it carefully.
    Let me know if something is unclear.
    Please be concise.
    Please give a detailed answer.
    I appreciate your help.
    Do not explain.
    Give your final answer at the end.
    Can you do that?
    What is the answer?
    Danke!
    Bitte antworte kurz.
    Ich freue mich auf deine Antwort.
    Gracias.
    Explica tu respuesta.
    Merci !
    Merci d'expliquer ta réponse.
    Grazie mille.
    Obrigado!
    谢谢。
    请给出答案。
    Спасибо!
    Объясни свой ответ.
    お願いします。
    ありがとう。
    감사합니다.`)
}

/** For evaluation only. */
export const heldOutWrappers: Wrappers = {
  greets: lines(`Good afternoon,
    Greetings.
    Yo,
    Guten Tag,
    Buenos días,
    Salut,
    您好！
    Привет,`),
  asks: lines(`I would be grateful for your assistance with this:
    Here is what I would like to know.
    Quick one for you:
    You are asked the following.
    Kindly handle the item that follows.
    Somebody on my team wants this sorted out:
    Ich hätte gern eine Antwort auf Folgendes:
    Folgendes beschäftigt mich.
    Aquí va mi consulta:
    ¿Me echas una mano con lo que sigue?
    Voici ma demande.
    Dis-moi ce que tu en penses :
    以下是我的请求：
    麻烦看一下这个。
    Мой запрос таков:
    以下についてお願いします。`),
  ends: lines(`Many thanks, have a nice day.
    What do you say?
    Take your time.
    Looking forward to what you come up with.
    Vielen Dank im Voraus!
    Muchas gracias por la ayuda.
    D'avance, merci beaucoup.
    麻烦你了。
    Заранее благодарен.
    よろしく。`)
}
