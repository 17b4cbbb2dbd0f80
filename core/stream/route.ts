/** Finds the next hop on the way to a path. */
import { childPath, depthOf, isBelow, segmentsOf } from '../identity/node-path.ts';
import type { RequestOrigin } from './stream.ts';

export type Hop =
  | { readonly to: 'here' }
  /** `below`: the name after the child's name in the path. Absent: the child is the target. */
  | { readonly to: 'child'; readonly name: string; readonly below?: string }
  | { readonly to: 'parent' }
  | { readonly to: 'nowhere'; readonly why: string };

/**
 * The next hop from the node `own` to the node `target`. `from`: for a request from below, the name of the child. A request goes up first, then down, and never
 * back to the node that sent it.
 */
export function nextHop(own: string, target: string, origin: RequestOrigin, from?: string): Hop {
  if (target === own) return { to: 'here' };
  if (isBelow(target, own)) {
    const [name = '', below] = segmentsOf(target).slice(depthOf(own));
    if (origin !== 'below' || name !== from) return { to: 'child', name, ...(below === undefined ? {} : { below }) };
    return { to: 'nowhere', why: `${target} lies below ${childPath(own, name)}, which asks for it here` };
  }
  if (origin === 'above') return { to: 'nowhere', why: `${target} is not below this node` };
  return { to: 'parent' };
}
