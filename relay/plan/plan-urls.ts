/**
 * URLs of a node's API that only read, and that are no objects of a space:
 *
 * - `POST /spaces/NAME/plan`, `POST /spaces/NAME/plan/rows`: what would change if the objects in the body were written (space-plan.ts).
 * - `POST /mailboxes/AGENT/plan`: what the agent would get from the planned rows in the body (destination-plan.ts).
 * - `GET /spaces/NAME/history/PLACEMENT`: the promoted revisions of a placement.
 * - `GET /spaces/NAME/undo/PLACEMENT?to=N`: what has to be written to go back to a revision.
 *
 * An answer has whole objects, Secrets among them. So besides the right to ask, the user needs the right to read each object that the answer takes from the node.
 */

import * as z from 'zod';
import type { NodeUrls } from '../../core/apiserver/http/node-urls.ts';
import { type ApiRequest, integerOf, jsonResponse } from '../../core/apiserver/http/requests.ts';
import { decodePart } from '../../core/apiserver/http/route.ts';
import { placementResource } from '../../core/apiserver/kinds/edge-placement.ts';
import type { Space } from '../../core/apiserver/space.ts';
import { downFeedJudge } from '../../core/entries/down-check.ts';
import { parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId } from '../../core/entries/placement-id.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { objectName } from '../../core/identity/node-path.ts';
import { canonicalBytes, stableStringify } from '../../core/object/canonical.ts';
import { jsonText, parseExactJson, parseJson } from '../../core/object/json.ts';
import { checkJsonBounds } from '../../core/object/json-bounds.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import { checkSchema, problemsText } from '../../core/runtime/schema-problems.ts';
import { asText, text } from '../../core/store/bytes.ts';
import type { Store } from '../../core/store/store.ts';
import { historyOf, undoOf } from '../history/undo.ts';
import { definitionObjects } from '../spaces/needs.ts';
import { payloadOf } from '../spaces/payload.ts';
import { type DestinationPlanPorts, destinationPlan } from './destination-plan.ts';
import { plannedRows, planWith, type SpacePlanPorts } from './space-plan.ts';

export interface PlanUrlsPorts extends Omit<SpacePlanPorts, 'space' | 'source' | 'table'>, DestinationPlanPorts {
  readonly store: Store;
  readonly path: string;
  ownSpace(source: string): Space | undefined;
}

export function planUrls(ports: PlanUrlsPorts): NodeUrls {
  return (request) => {
    const [, kind, rawName = '', verb = '', rest = ''] =
      /^\/(spaces|mailboxes)\/([^/]+)\/(plan|history|undo)(?:\/(.*))?$/.exec(request.path) ?? [];
    const name = decodePart(rawName);
    if (kind === 'mailboxes' && verb === 'plan' && rest === '') return planAt(ports, name, request);
    if (kind !== 'spaces') return undefined;
    const source = `${objectName(ports.path)}.${name}`;
    const space = ports.ownSpace(source);
    if (!space) return undefined;
    const planPorts = { ...ports, space, source, table: ports.tableOf(source) };
    if (verb === 'plan' && (rest === '' || rest === 'rows'))
      return planIn(ports.store, planPorts, rest !== '', request);
    if (verb === 'history' || verb === 'undo') return history(ports.store, planPorts, verb, decodePart(rest), request);
    return undefined;
  };
}

const objectsSchema = z.strictObject({
  objects: z.array(
    z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
  ),
});

async function planIn(store: Store, ports: SpacePlanPorts, withRows: boolean, request: ApiRequest) {
  const { objects } = await bodyOf(request, objectsSchema);
  const written = objects as unknown as KubeObject[];
  if (!withRows)
    return jsonResponse(
      200,
      store.read((reader) => planWith(reader, ports, written)),
    );
  const { planned, rows } = store.read((reader) => plannedRows(reader, ports, written));
  for (const { key } of rows) {
    const entry = parseEntryKey(key);
    if (entry?.type === 'object' && !isDefinition(entry.object)) request.mustRead(entry.object);
  }
  return jsonResponse(200, { source: ports.source, planned, rows: rows.map(shownRow) });
}

const rowsSchema = z.strictObject({
  source: z.string(),
  planned: z.array(z.string()),
  rows: z.array(
    z.strictObject({
      key: z.string(),
      attributes: z.record(z.string(), z.unknown()),
      body: z.record(z.string(), z.unknown()),
    }),
  ),
  make: z.array(z.string()),
  all: z.array(z.string()).exactOptional(),
});

const judgeRow = downFeedJudge('relay');

/** The body of a request to an agent's mailbox. */
export type PlanAtRequest = z.infer<typeof rowsSchema>;

/** A row as JSON. */
export type ShownRow = z.infer<typeof rowsSchema>['rows'][number];

async function planAt({ store, ...ports }: PlanUrlsPorts, agent: string, request: ApiRequest) {
  const { rows, ...rest } = await bodyOf(request, rowsSchema);
  const planned = { ...rest, rows: rows.map(rowOf) };
  // The same check as for rows that come from the parent.
  for (const row of planned.rows) {
    const flaw = judgeRow(row);
    if (flaw) throw new BanyanError('BadRequest', `rows: ${jsonText(row.key)}: ${flaw.reason}`);
  }
  const plan = store.read((reader) => destinationPlan(reader, ports, agent, planned));
  for (const { key, present } of plan.objects) if (present) request.mustRead(key);
  return jsonResponse(200, plan);
}

async function history(
  store: Store,
  { space, source, table }: SpacePlanPorts & { readonly table: Table },
  verb: 'history' | 'undo',
  name: string,
  request: ApiRequest,
) {
  if (request.method !== 'GET') throw notAllowed(request.method);
  const { storage } = space;
  if (!storage.get({ ...placementResource, namespace: '', name })) {
    throw new BanyanError('NotFound', `edgeplacements.edge.banyan.io "${name}" not found`);
  }
  const id = placementId(source, name);
  const to = request.query.has('to') ? integerOf(request.query, 'to') : undefined;
  if (verb === 'history')
    return jsonResponse(
      200,
      store.read((reader) => historyOf(reader, id)),
    );
  const undo = store.read((reader) => undoOf(reader, { table, storage, payloadOf }, id, to));
  for (const { key } of undo.write) request.mustRead(key);
  return jsonResponse(200, undo);
}

function shownRow({ key, attributes, body }: Content): ShownRow {
  return { key, attributes: JSON.parse(asText(attributes)), body: parseJson(asText(body)) as ShownRow['body'] };
}

/** The bytes are canonical, as in the row that this JSON shows. */
function rowOf({ key, attributes, body }: ShownRow): Content {
  return { key, attributes: text(stableStringify(attributes)), body: canonicalBytes(body as unknown as KubeObject) };
}

async function bodyOf<T>(request: ApiRequest, schema: z.ZodType<T>): Promise<T> {
  if (request.method !== 'POST') throw notAllowed(request.method);
  const json = asText(await request.body());
  checkJsonBounds(json);
  const checked = checkSchema(schema, parsed(json));
  if ('value' in checked) return checked.value;
  throw new BanyanError('BadRequest', problemsText(checked.problems, 'the body'));
}

function parsed(json: string): unknown {
  try {
    return parseExactJson(json);
  } catch (error) {
    if (error instanceof BanyanError) throw error;
    throw new BanyanError('BadRequest', `the body is no JSON: ${describeError(error)}`, {}, { cause: error });
  }
}

/** A plan brings the definitions of its objects. Discovery shows them to everybody. */
function isDefinition({ group, resource }: ObjectKey): boolean {
  return group === definitionObjects.group && resource === definitionObjects.resource;
}

function notAllowed(method: string): BanyanError {
  return new BanyanError('MethodNotAllowed', `the server does not allow ${method} here`);
}
