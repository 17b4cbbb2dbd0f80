/** Limits for the number of parts of a message. The maker of the message, the check of its bytes, and the check of the decoded message use these numbers. */

/** Maximal number of entries of a batch. */
export const batchEntries = 512;
/** Watermarks of a beat, one for each space above the child: a thousand spaces at each of four levels. */
export const watermarksMax = 4_096;
/** Groups of the user for whom a stream is opened. */
export const groupsMax = 256;
/**
 * Open streams between two nodes, counting both directions. Enough for several shells and log views of a shop, and for a moment in which one request goes
 * to every node below a relay, one after the other.
 */
export const streamsMax = 256;
