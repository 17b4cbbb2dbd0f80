/** Names in all HTTP/1.1 requests to a parent: the handshake of WebSocket, and requests for certificates. */

/** The name of HTTP/1.1 in ALPN. */
export const http1Protocol = 'http/1.1';
/** The header with the error code of a refusal. */
export const codeHeader = 'banyan-code';
