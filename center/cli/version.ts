/** `banyan version`: the version of this program, and of every node that it reaches. */
import { objectName, shownPath } from '../../core/identity/node-path.ts';
import type { Output } from './output.ts';
import { formatTable } from './table.ts';
import type { TreeRow } from './tree.ts';

export interface ClientVersion {
  readonly version: string;
  /** The version of Node.js. */
  readonly node: string;
}

/** `rows` undefined: the client reaches no tree, for the reason `why`. */
export function versionOutput(
  client: ClientVersion,
  tree: { readonly rows: readonly TreeRow[] } | { readonly why: string },
): Output {
  const head = `client   ${client.version}   (Node.js ${client.node})`;
  if ('why' in tree) {
    const data = { client, nodes: [], reason: tree.why };
    const text = `${head}\nnodes    unknown: ${tree.why}`;
    return { data, names: [], text, wide: text };
  }
  const nodes = tree.rows.map(({ path, role, version, session }) => ({
    path: shownPath(path),
    role,
    version,
    session,
  }));
  const cells = nodes.map(({ path, role, version }) => [path, role, version || 'unknown']);
  const wide = nodes.map(({ session }, i) => [...cells[i]!, session]);
  const differing = new Set(nodes.map(({ version }) => version).filter((one) => one !== client.version && one !== ''));
  const note = differing.size === 0 ? [] : [`other versions than the client's: ${[...differing].sort().join(', ')}`];
  const text = (header: readonly string[], lines: readonly (readonly string[])[]) =>
    [head, '', formatTable(header, lines), ...note].join('\n');
  return {
    data: { client, nodes: nodes.map(({ session: _session, ...node }) => node) },
    names: tree.rows.map(({ path }) => `node.mesh.banyan.io/${objectName(path)}`),
    text: text(['NODE', 'ROLE', 'VERSION'], cells),
    wide: text(['NODE', 'ROLE', 'VERSION', 'SESSION'], wide),
  };
}
