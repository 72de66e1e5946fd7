/**
 * Other gateways that the bench can measure beside this one, if they are installed in the folder that `BENCH_PEERS`
 * names. They are no dependencies, and nothing is fetched for them.
 */
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"

export interface PeerCommand {
  readonly file: string
  readonly arguments: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  /** A file that the command reads. */
  readonly config?: { readonly path: string; readonly text: string }
}

export interface PeerPlace {
  readonly port: number
  readonly provider: string
  /** The directory of this run. */
  readonly directory: string
}

export interface PeerGateway {
  /** Answers with any status once the peer listens. */
  readonly readyPath: string
  /** The command that installs it. */
  readonly install: string
  /** `undefined` if it is not installed. */
  readonly command: (place: PeerPlace) => PeerCommand | undefined
}

const folder = process.env["BENCH_PEERS"] ?? join(tmpdir(), "tollgate-bench-peers")

const portkey: PeerGateway = {
  readyPath: "/",
  install: `npm install --prefix ${folder} @portkey-ai/gateway`,
  command: ({ port, provider }) => {
    const server = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js")
    if (!existsSync(server)) return undefined
    return {
      file: process.execPath,
      arguments: [server, `--port=${port}`, "--headless"],
      environment: { NODE_ENV: "production" },
      headers: {
        authorization: "Bearer none",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `${provider}/v1`
      }
    }
  }
}

/** The configuration is YAML, which JSON is a part of. */
const litellm: PeerGateway = {
  readyPath: "/health/liveliness",
  install: `python3 -m venv ${folder} && ${folder}/bin/pip install "litellm[proxy]"`,
  command: ({ directory, port, provider }) => {
    const file = join(folder, "bin/litellm")
    if (!existsSync(file)) return undefined
    const path = join(directory, "litellm.yaml")
    const parameters = { model: "openai/gpt-4o-mini", api_base: `${provider}/v1`, api_key: "none" }
    const text = JSON.stringify({ model_list: [{ model_name: "gpt-4o-mini", litellm_params: parameters }] })
    return {
      file,
      arguments: ["--config", path, "--host", "127.0.0.1", "--port", String(port), "--num_workers", "1"],
      environment: { LITELLM_TELEMETRY: "False", LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "ERROR" },
      headers: { authorization: "Bearer none" },
      config: { path, text }
    }
  }
}

export const peerGateways: Readonly<Record<string, PeerGateway>> = { portkey, litellm }
