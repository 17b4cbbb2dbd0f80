/** Names that all HTTP/1.1 requests to a parent share: the handshake of WebSocket, and requests for certificates. */

/** The protocol name of ALPN. */
export const http1Protocol = 'http/1.1';
/** The header of a refusal that carries the code of the error. */
export const codeHeader = 'banyan-code';
