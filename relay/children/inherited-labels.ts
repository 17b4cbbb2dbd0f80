/**
 * The labels that Locations below a relay inherit for matching: one label for each level of the relay's path, one for the whole path, and the labels of the
 * relays on this path.
 */
import { segmentsOf } from '../../core/identity/node-path.ts';
import type { Labels } from '../../core/object/selector.ts';

const prefix = 'tree.banyan.io/';
/** The longest label value that Kubernetes allows. */
const labelValueMax = 63;

/** Returns the labels of the path itself. A path that is too long for a label value gets no `tree.banyan.io/path`, only the labels of its levels. */
export function pathLabels(path: string): Labels {
  if (path === '') return {};
  const names = segmentsOf(path);
  const joined = names.join('.');
  return {
    ...Object.fromEntries(names.map((name, i) => [`${prefix}${i + 1}`, name])),
    ...(joined.length <= labelValueMax ? { [`${prefix}path`]: joined } : {}),
  };
}

/** Returns the labels that a relay's Locations inherit: the labels from above, then the relay's own labels, then its path, which nothing overrides. */
export function inheritedBelow(path: string, fromAbove: Labels, own: Labels): Labels {
  const given = Object.entries({ ...fromAbove, ...(path === '' ? {} : own) });
  return { ...Object.fromEntries(given.filter(([key]) => !key.startsWith(prefix))), ...pathLabels(path) };
}
