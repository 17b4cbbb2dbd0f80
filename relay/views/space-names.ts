/**
 * The names of spaces in URLs: the name of one of this node's own spaces, or a source, that is, a space of a node above, such as `center.retail`.
 *
 * A node learns from its parent which spaces the nodes above have, whether or not they place anything here (`revision-gaps/` rows). So it can tell a space that
 * places nothing here from a mistake, and from a space that was removed.
 */
import { isKnown, isServedAbove, seenSources } from '../../core/entries/source-incarnations.ts';
import type { Table } from '../../core/feed/feed.ts';
import { isSourceAbove, objectName, shownPath } from '../../core/identity/node-path.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { suggest } from '../../core/runtime/suggest.ts';
import type { Store } from '../../core/store/store.ts';

/** More names do not fit into one message that people read. */
const namesMax = 20;

export interface SpaceNamesPorts {
  readonly store: Store;
  /** The path of this node. */
  readonly path: string;
  /** The rows that the parent sends. */
  readonly upstream: Table;
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
    const { path } = this.#ports;
    if (own.includes(name)) return `${objectName(path)}.${name}`;
    if (isSourceAbove(path, name) && this.#mayBeAbove(name)) return name;
    const known = this.#above();
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

  #mayBeAbove(source: string): boolean {
    const { store, upstream } = this.#ports;
    return store.read((reader) => {
      // This node has heard of the space, so the missing row says that the space was removed.
      if (isKnown(reader, source)) return isServedAbove(reader, upstream, source);
      return !this.#above().some((one) => originOf(one) === originOf(source));
    });
  }

  /** The spaces of nodes above. A node that was moved in the tree also knows sources from its former place. */
  #above(): string[] {
    const { store, path, upstream } = this.#ports;
    return store.read((reader) => {
      const isServed = (source: string) => isSourceAbove(path, source) && isServedAbove(reader, upstream, source);
      return seenSources(reader).filter(isServed).sort();
    });
  }
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
