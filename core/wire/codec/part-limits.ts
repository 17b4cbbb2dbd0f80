/** How many parts a message may have: one number for whoever makes it, for the look at its bytes, and for the check of what was decoded. */

/** Entries of a batch. */
export const batchEntries = 512;
/** A watermark is of a space above: a thousand spaces at each of four levels. */
export const watermarksMax = 4_096;
/** Groups of the user on whose behalf a stream is opened. */
export const groupsMax = 256;
/** Open between two nodes, both ways together: some shells and log views of a shop, and every node below a relay at a time for a moment. */
export const streamsMax = 256;
