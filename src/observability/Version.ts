/** The version of Tollgate, as in `package.json`. */
export const tollgateVersion = "0.1.0"
