/**
 * What we found 431 public chat prompts to ask for, by the first six digits of their ids in Arena-Hard v0.1. Prompts
 * that ask for several things alike are left out. Only the labels are here; the prompts are not.
 */
const idsByLabel = {
  coding: `b43c07 f54e99 7bcf40 847e08 b26d8c 46e737 691204 ed426d 9d7d8b 2089a2 fae4f7 9db47b 31615e face6a dbff04
    60856d 7cbfd2 66de1a 32e124 20c9d9 65e723 4587e8 70dccc a3977c db60d2 f0c747 d6410b 4c2a6d 68ab3f bc7502
    2c53e7 c63a6b a89e93 74c425 2b9b64 6462f1 7ea271 3d3e00 0d1aea ee9ae7 c30665 cd99a5 15f390 4daa77 ba51d6
    639d4f c542b6 1b7338 ccda5d 946c6e 5aa989 0b70bc 548610 5601c9 4ef42c 40b857 0c7464 3801e8 fd86df 2c41e8
    4a0cf9 dc7f0e 01b515 677893 bab125 946bb5 eea41c f2d84d b9a780 7d8346 d65ce5 66336a bc9b7e 3bcc4c 7957dc
    69a536 11c4fb 06991f 69bad8 e21a44 9ecd86 ce3fca 3bd60e 3735ce 246497 ab4e0c 8390e6 ab4a51 f152bc b7e2e3
    3d24b3 e9f5e0 cdc880 f9111d c1f1de 02b50e 0394b6 718178 1f5e8d 810482 3f8944 6e9234 73e362 bacdff 3b2d36
    1da6ae 03917c 806b0e 09e036 742071 d38fc9 842459 9c6e43 88e609 5d3696 dbe8eb a81215 f3b397 089cea f71306
    5741eb 0bd2cb 65f00d 730f4b 51b92f 61e3d1 a016cb ab9106 dd4786 b7e7a1 1de1a9 38506f 7a2bdc 9c7bcb 8b15b6
    d1c34e 0fa52d 6a00d2 07bfa5 252dad 95bb50 fdf5e9 02e11c 1cc390 7cec8e beefc3 7cef87 91fe74 204003 cd40f4
    7df9c5 2bc4db 300666 6937bd a4a00d d7d1be f388d1 bead87 fb3496 47e1fd 1b0157 d1ef27 625ae8 3c59e7 3102d7
    2a35e3 d588d5 1e3cf1 08d2f4 d5dd01 3bed08 14f36f 54ac97 e28da3 df95f4 0977f5 0122ab 10accd addaa7 25fece
    8159ca 1e75db 20e4e9 815c08 c190fc 3a8183 307662 9d668b b4b1c3 ea26a5 a0cf89 ff7fbd 7b6290 f5537f 3982cd
    ccf2df d8e75c 2f3b37 77cb2d da5611 9cb276 7e1605 573312 cf475b 4f6903 3f6cb8 4b0cf1 f1c852 ba33e4 805a15
    28373e f7965a 399c9b 595fc9 15d603 505072 c5da09 c44f50 eac467 f51541 e82a46 f7cb27 ffb302 45d130 bb072f
    64b7ce 752135 dbc2b0 e53db2 b18307 a309b4 608e40 09c4df 27e3cd df53b3 70e842 761441 37a2cf e9902d 654068
    1878e1 7bcdc1 51f2aa c56138 6c125f 9a9cd2 e9157e 625671 2a6a19 b0cf57 61eb14 7c96ae f4dcf9 4e514c ea6185
    1bc737 479edf 5e70f0 76362f 89fde4 f2b8fb c1c0c8 4e1ba5 2a005a 19ee33 7e8521 d433ac 573a0e 57b28a e298dd
    44bd78 32fe1f 01f068 71bb06 ac6ec3 e948f9 8e6c72 f776a9 166a57 9845f9 01b836 9d0bd5 8fc630 19a33e c6f96c
    9cd748 4864b2 e9820e b62a3d 90d715 311a7c bc5655 cb04ca 398e83 4ae5aa`,
  math: `379a49 92abeb e9a2e1 6b3132 ab10af 33166d 7833a7 4e5a75 6225fb f8986f 9c5e7d 75b8fc 7ef923 1044e6 e5dbb6
    bc59fa 0a7d65 77fd22 1d725b 36ce05 e1e290 5715cb d8ac4f d9dd7b 4bb68a 4f313e bd1d9d 09a13c b73a76 3bfa0f
    4519ac 6a111f`,
  creative: "328c14 3f85bf 51c444 f4c8b6 b5987b c88cf9 406481 d192a1 e721d9 19b608 121b8f de6e5b e86055",
  knowledge: `1f07cf ed3077 90b299 6a82ba f7c6dc 2a6d0b fd64e8 5b2976 be6f4e 52b9f9 1cf367 415899 59fa5b c15bbb fae0a2
    07c7df e2c837 b2206e 4c960b 229365 b91d93 70d835 854302 fd3782 f2d343 3bd1d7 96d2e8 53214b 6db538 3132bb
    0df741 da1d66 949c62 49f5dd 2c614d 4086b6 8bf2bb 434409 1db228 4f45d0 1827a0 79a288 81283c 170563 582164
    24adab 1cef15 7313df 21388f 62c7ca 587d30 fbe1b0`,
  instruction: `e7e76d b253dc 26a291 8630c9 2ce595 e0ccb6 75c234 c67189 e63f97 3ff3ef 34690d 33cdce 93a551 67f53a 26d316
    708512 448994 ef1fe5 c35cf8 d35117 a8219c 1cf362 0e07d7 5bd74e 0dea89 4d9f73 a96630 d7bf9f`,
  extraction: "3971e3 f035c1 a88b57 ae30b1",
  reasoning: "dec498 221fc2 d4f725 a6663c",
  language: "983120",
  translation: "eebd25 2f5d45"
} as const

const idDigits = 6
const collection = "ah01/"

const labelById = new Map(
  Object.entries(idsByLabel).flatMap(([label, ids]) => ids.split(/\s+/).map((id) => [collection + id, label] as const))
)

/** Our label of a row, by its id. */
export const chatLabelOf = (id: string): string | undefined => labelById.get(id.slice(0, collection.length + idDigits))
