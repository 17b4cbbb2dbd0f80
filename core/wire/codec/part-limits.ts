/** How many parts a message may have. The maker of the message, the check of its bytes, and the check of the decoded message use the same numbers. */

/** Entries of a batch. */
export const batchEntries = 512;
/** Watermarks of a beat. Each watermark is of a space above: a thousand spaces at each of four levels. */
export const watermarksMax = 4_096;
/** Groups of the user on whose behalf a stream is opened. */
export const groupsMax = 256;
/**
 * Streams that are open between two nodes, in both directions together: some shells and log views of a shop, and for a moment, one request to every node
 * below a relay in turn.
 */
export const streamsMax = 256;
