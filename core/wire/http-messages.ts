/** What requests of HTTP/1.1 to a parent share: the handshake of WebSocket, and requests for certificates. */

/** Of ALPN. */
export const http1Protocol = 'http/1.1';
/** Of an answer that refuses: the code of the error. */
export const codeHeader = 'banyan-code';
