/** Forms and answers of `POST /v1/audio/transcriptions` for the published document. */
import type { Transcription, TranscriptionEvent, TranscriptionRequestBody } from "../AudioTranscription.ts"
import type { DocumentedExamples } from "../OperationDocs.ts"

type Form = typeof TranscriptionRequestBody.Encoded

const forms = {
  plain: { file: "speech.mp3", model: "svc-auto", language: "en" },
  text: { file: "speech.mp3", model: "svc-auto", response_format: "text" },
  streamed: { file: "speech.mp3", model: "svc-auto", stream: true },
  labelled: {
    file: "speech.mp3",
    model: "svc-auto",
    prompt: "A meeting about Kubernetes and Istio.",
    svc: '{"call_name":"minutes","end_user_id":"user-4711"}'
  }
} satisfies { readonly [name: string]: Form }

/** The file stands for itself by its name. */
export const transcriptionForms: DocumentedExamples = {
  plain: { summary: "As JSON", value: forms.plain },
  text: { summary: "As bare text", value: forms.text },
  streamed: { summary: "As a stream", value: forms.streamed },
  labelled: { summary: "With vocabulary and labels", value: forms.labelled }
}

const text = "The toll for this bridge is two dollars and fifty cents."

const transcription: typeof Transcription.Encoded = {
  text,
  usage: {
    type: "tokens",
    seconds: 4.2,
    input_tokens: 42,
    input_token_details: { audio_tokens: 42, text_tokens: 0 },
    output_tokens: 13,
    total_tokens: 55,
    cost: 0.000_25
  }
}

const event = (value: typeof TranscriptionEvent.Encoded) => ({ event: "message", data: JSON.stringify(value) })

export const transcriptionAnswers: DocumentedExamples = {
  json: { summary: "The text, its length and what it cost", value: transcription }
}

export const transcripts: DocumentedExamples = { text: { summary: "The text alone", value: text } }

/** The events of one stream, in order. */
export const transcriptionEvents: DocumentedExamples = {
  delta: { summary: "The text", value: event({ type: "transcript.text.delta", delta: text }) },
  done: {
    summary: "The whole text and the usage",
    value: event({ type: "transcript.text.done", ...transcription })
  }
}
