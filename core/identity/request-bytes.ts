/** Of a request for a certificate, as PEM: one with the longest path that there is has 6 KB. */
export const requestBytesMax = 8 * 1024;
