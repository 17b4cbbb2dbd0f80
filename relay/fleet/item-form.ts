/** Copies in the form that a question asks for: objects, rows of a Table, or metadata only. */

import type { PrinterColumn } from '../../core/apiserver/schema.ts';
import type { Kind } from '../../core/apiserver/space.ts';
import { humanDuration } from '../../core/apiserver/table/ages.ts';
import { columnDefinitions, partialMetadata, type TableOptions, tableRow } from '../../core/apiserver/table/table.ts';
import { jsonText } from '../../core/object/json.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { staleAnnotation } from './copy.ts';
import type { Item } from './fleet-lines.ts';
import type { AnswerForm, AskedKind, Place } from './fleet-question.ts';

export interface ItemForm {
  readonly kind: AskedKind;
  readonly form: AnswerForm;
  /** The kind as this node knows it, for conversions between versions. */
  readonly known: Kind | undefined;
  readonly nowMs: number;
}

/** `{"metadata":{`: the objects of this program begin with their metadata. */
const metadataAt = '{"metadata":{'.length;

export function itemOf(object: KubeObject, place: Place, revision: number, options: ItemForm): Item {
  const { form, kind, known } = options;
  const converted = inVersion(object, kind.version, known);
  const item = (value: object, stampAt: number): Item => {
    return { ...place, revision, payload: Buffer.from(jsonText(value)), stampAt };
  };
  if (form.as === 'Table') return rowItem(converted, place, revision, options);
  if (form.as === 'object') return item(converted, metadataAt);
  const { metadata, ...type } = partialMetadata(converted, form.version) as KubeObject;
  return item({ metadata, ...type }, metadataAt);
}

function rowItem(object: KubeObject, place: Place, revision: number, { kind, form, nowMs }: ItemForm): Item {
  const options: TableOptions = { version: form.version, includeObject: form.includeObject, nowMs };
  const row = tableRow(columnsOf(kind), kind.version, object, options) as { cells: unknown[]; object?: KubeObject };
  const [name, ...others] = row.cells;
  const cells = [name, clusterOf(place.path), ...others, staleCell(object, nowMs)];
  if (!row.object) return { ...place, revision, payload: Buffer.from(jsonText({ cells })), stampAt: -1 };
  const { metadata, ...rest } = row.object;
  const shown = { object: { metadata, ...rest }, cells };
  const payload = Buffer.from(jsonText(shown));
  return { ...place, revision, payload, stampAt: '{"object":'.length + metadataAt };
}

/** The columns of the kind, with the cluster after the name, and with the age of stale copies at the end. */
export function fleetColumns(kind: AskedKind): object[] {
  const [name, ...others] = columnDefinitions(columnsOf(kind), kind.version);
  const column = (title: string, description: string) => ({
    name: title,
    type: 'string',
    format: '',
    description,
    priority: 0,
  });
  return [
    name!,
    column('Cluster', 'The path of the edge cluster that has the copy.'),
    ...others,
    column('Stale', 'How long the agent of the cluster has not been connected. Empty: it is connected.'),
  ];
}

/** Paths in lists have the numbers of replicas, because questions go to each of them. The path of a cluster has none. */
export function clusterOf(path: string): string {
  return path.replaceAll(/~\d+/g, '');
}

function staleCell({ metadata }: KubeObject, nowMs: number): string {
  const since = metadata.annotations?.[staleAnnotation];
  return since === undefined ? '' : humanDuration(nowMs - Date.parse(since));
}

function columnsOf({ group, resource, columns }: AskedKind): Pick<Kind, 'group' | 'resource' | 'columns'> {
  return { group, resource, columns: () => columns as readonly PrinterColumn[] };
}

/** An object that a cluster reported may be in a version that this node does not know, or that only a webhook converts. The object then stays as it is. */
function inVersion(object: KubeObject, version: string, known: Kind | undefined): KubeObject {
  const { version: present } = parseApiVersion(object.apiVersion);
  if (present === version || !known?.versions.includes(version) || !known.versions.includes(present)) return object;
  const converted = known.rules.convert(object, version);
  if (!converted) return object;
  const { metadata, ...rest } = converted;
  return { metadata, ...rest } as KubeObject;
}
