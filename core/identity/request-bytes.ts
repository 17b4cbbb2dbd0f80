/** Maximal size of a certificate request in PEM. A request with the longest possible path has 6 KB. */
export const requestBytesMax = 8 * 1024;
