/** The output of `banyan tree` and `banyan version` about the rows of a tree. */
import { nameOf, objectName, parentOf, shownPath } from '../../core/identity/node-path.ts';
import { timestamp } from '../../core/object/conditions.ts';
import { ageText } from './age.ts';
import type { Output } from './output.ts';
import { formatTable } from './table.ts';
import { earliestMs, type TreeRow } from './tree.ts';

export function treeOutput(rows: readonly TreeRow[], nowMs: number): Output {
  return {
    data: { nodes: treeData(rows) },
    names: rows.map(({ path }) => `node.mesh.banyan.io/${objectName(path)}`),
    text: formatTree(rows, nowMs),
    wide: formatTree(rows, nowMs, true),
  };
}

/** The age of the newest data that each node has from the root. Empty: the data is as fresh as possible. `never`: the node has no data from the root. */
function rootAges(rows: readonly TreeRow[], nowMs: number): ReadonlyMap<string, string> {
  const contacts = rootContacts(rows);
  return new Map(Array.from(contacts, ([path, atMs]) => [path, atMs === undefined ? '' : ageText(nowMs - atMs)]));
}

/** The time of this data in ms. Undefined: as fresh as possible. Minus infinity: the node has none. */
function rootContacts(rows: readonly TreeRow[]): ReadonlyMap<string, number | undefined> {
  const contacts = new Map<string, number | undefined>();
  // Parents come before their children.
  for (const { path, receivedAtMs, detachedAtMs, isNew } of rows) {
    const above = path === '' ? undefined : contacts.get(parentOf(path));
    contacts.set(path, isNew ? Number.NEGATIVE_INFINITY : earliestMs(above, receivedAtMs, detachedAtMs));
  }
  return contacts;
}

/** Times instead of ages: a program that reads the output later still knows what they mean. */
function treeData(rows: readonly TreeRow[]): object[] {
  const contacts = rootContacts(rows);
  return rows.map(({ path, role, session, transport, version, lag, below, notes }) => {
    const atMs = contacts.get(path);
    return {
      path: shownPath(path),
      role,
      version,
      ...(session === '' ? {} : { session }),
      ...(transport === '' ? {} : { transport }),
      ...(atMs === undefined ? {} : { rootContactAt: Number.isFinite(atMs) ? timestamp(atMs) : 'never' }),
      ...(lag === '' ? {} : { lag: Number(lag) }),
      ...(below === '' ? {} : { destinations: Number(below) }),
      notes: notes === '' ? [] : notes.split('; '),
    };
  });
}

export function formatTree(rows: readonly TreeRow[], nowMs: number, wide = false): string {
  const wideCell = (cell: string) => (wide ? [cell] : []);
  const ages = rootAges(rows, nowMs);
  return formatTable(
    [
      'NODE',
      'ROLE',
      'SESSION',
      ...wideCell('TRANSPORT'),
      ...wideCell('VERSION'),
      'ROOT AGE',
      'LAG',
      'DESTINATIONS',
      'NOTES',
    ],
    rows.map((row) => [
      `${'  '.repeat(row.depth)}${shownPath(nameOf(row.path))}`,
      row.role,
      row.session,
      ...wideCell(row.transport),
      ...wideCell(row.version),
      ages.get(row.path) ?? '',
      row.lag,
      row.below,
      row.notes,
    ]),
  );
}
