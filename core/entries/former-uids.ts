/**
 * The uids of the former objects of one name, as an `o/` entry has them. Eight digits of a uid are enough: they only distinguish the objects that one name
 * ever had.
 */

/** Maximal number of former objects that an entry names: a cluster that was away while an object was made anew more often changes the object in place. */
export const formerUidsMax = 32;

export function shortUid(uid: string): string {
  return uid.slice(0, 8);
}
