/** All endpoints in one definition, for the published document and for whoever has to know every route. */
import { HttpApi, OpenApi } from "effect/http-api"

import { AdminApi } from "./admin/AdminApi.ts"
import { Api } from "./Api.ts"
import { introduction } from "./Introduction.ts"

/** The endpoints of clients and those of operators. */
export class WholeApi extends HttpApi.make("tollgate")
  .addHttpApi(Api)
  .addHttpApi(AdminApi)
  .annotateMerge(
    OpenApi.annotations({
      title: "Tollgate",
      version: "1",
      description: introduction,
      servers: [{ url: "/", description: "This gateway." }]
    })
  ) {}
