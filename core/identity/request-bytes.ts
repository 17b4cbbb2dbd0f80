/** Maximal size of a request for a certificate, as PEM. A request with the longest possible path has 6 KB. */
export const requestBytesMax = 8 * 1024;
