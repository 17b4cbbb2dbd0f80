/** `banyan history epl/NAME`: the promoted revisions of a placement. */
import type { PlacementHistory, ShownChange, ShownRevision } from '../../relay/history/undo.ts';
import { shownKey } from '../../relay/plan/object-preview.ts';
import type { NodeApiClient } from './api-client.ts';
import { formatTable } from './table.ts';

/** Objects in one cell of the table. */
const namedMax = 3;

export async function historyTable(api: Pick<NodeApiClient, 'ask'>, context: string, name: string): Promise<string> {
  const { revisions, held } = await api.ask<PlacementHistory>(context, `/history/${encodeURIComponent(name)}`);
  const waiting =
    held > 0
      ? [`${held} changed objects are not promoted yet; undo without --to goes back to the newest revision`]
      : [];
  if (revisions.length === 0) return [`EdgePlacement ${name}: nothing was promoted yet`, ...waiting].join('\n');
  const rows = revisions.map((revision) => [
    String(revision.number),
    `${new Date(revision.lastAtMs).toISOString().slice(0, 19)}Z`,
    revision.release === undefined ? '-' : String(revision.release),
    String(revision.generation),
    changesText(revision),
    revision.cause ?? '',
  ]);
  return [formatTable(['REVISION', 'PROMOTED', 'RELEASE', 'GENERATION', 'CHANGES', 'CAUSE'], rows), ...waiting].join(
    '\n',
  );
}

/** `~ deployments.apps shop/web (4 -> 5), + configmaps shop/prices, and 3 more` */
function changesText({ objects, changes }: ShownRevision): string {
  const shown = objects.slice(0, namedMax).map(changeText);
  const more = changes - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

function changeText({ key, action, from, to }: ShownChange): string {
  const sign = action === 'added' ? '+' : action === 'removed' ? '-' : '~';
  const generations = from !== undefined && to !== undefined && from !== to ? ` (${from} -> ${to})` : '';
  return `${sign} ${shownKey(key)}${generations}`;
}
