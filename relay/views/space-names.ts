/**
 * The names of spaces in URLs: the name of one of this node's own spaces, or a source, that is, a space of a node above, such as `center.retail`.
 *
 * A node learns from its parent's watermarks which spaces the nodes above have, whether or not they place anything here. So it can tell a space that places
 * nothing here from a mistake.
 */
import { isAbove } from '../../core/entries/from-parent.ts';
import { seenSources } from '../../core/entries/source-incarnations.ts';
import { objectName, shownPath } from '../../core/identity/node-path.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import { readWatermarks } from '../../core/session/watermark.ts';
import type { Reader, Store } from '../../core/store/store.ts';

/** More names do not fit into one message that people read. */
const namesMax = 20;

export interface SpaceNamesPorts {
  readonly store: Store;
  /** The path of this node. */
  readonly path: string;
}

export class SpaceNames {
  readonly #ports: SpaceNamesPorts;

  constructor(ports: SpaceNamesPorts) {
    this.#ports = ports;
  }

  /**
   * The source that a URL names. `own`: the names of the own spaces that the URL may name. `what`: what they are, for the message. Throws NotFound if neither this
   * node nor a node above has such a space. While this node knows no space of a node above, the node may have any.
   */
  sourceOf(name: string, own: readonly string[], what = 'space'): string {
    const { store, path } = this.#ports;
    if (own.includes(name)) return `${objectName(path)}.${name}`;
    const known = store.read((reader) => sourcesAbove(reader, path));
    const isOfNodeAbove = path !== '' && isAbove(path, name);
    if (isOfNodeAbove && (known.includes(name) || !known.some((one) => originOf(one) === originOf(name)))) return name;
    const where = path === '' ? 'at the center' : `at ${shownPath(path)} or above`;
    throw new BanyanError(
      'NotFound',
      `there is no ${what} ${JSON.stringify(name)} ${where}: ${remedy(name, own, known)}`,
    );
  }

  /** Throws NotFound if the prefix is `/spaces/NAME`, and there is no such space. */
  check(prefix: string, own: readonly string[]): void {
    const [, kind, name = ''] = prefix.split('/');
    if (kind === 'spaces') this.sourceOf(name, own);
  }
}

/** The sources above this node that the node knows. A node that was moved in the tree also knows sources from its former place. */
function sourcesAbove(reader: Reader, path: string): string[] {
  const { own, complete } = readWatermarks(reader);
  const all = new Set([...Object.keys(complete), ...Object.keys(own), ...seenSources(reader)]);
  return [...all].filter((source) => isAbove(path, source)).sort();
}

/** The node of a source: `eu.paris` of `eu.paris.ops`. */
function originOf(source: string): string {
  return source.slice(0, Math.max(0, source.lastIndexOf('.')));
}

function remedy(name: string, own: readonly string[], above: readonly string[]): string {
  const all = [...own, ...above];
  const near = suggest(name, all);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  if (all.length === 0) return 'there are no spaces';
  const more = all.length > namesMax ? `, and ${all.length - namesMax} more` : '';
  return `the spaces are ${all.slice(0, namesMax).join(', ')}${more}`;
}
