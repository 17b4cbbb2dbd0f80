/** The answer to a get by name. Several clusters have an object of one name, so a get needs the cluster. */
import type { ApiResponse } from '../../core/apiserver/http/requests.ts';
import { warned } from '../../core/apiserver/http/warnings.ts';
import { notFound } from '../../core/apiserver/status-errors.ts';
import { formatGroupResource, type ObjectKey } from '../../core/object/key.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { awayText } from './away.ts';
import { pathValue } from './copy.ts';
import { type Away, type FleetLine, type Item, stamped } from './fleet-lines.ts';
import type { ListQuestion } from './fleet-question.ts';
import { clusterOf, fleetColumns } from './item-form.ts';

/** Paths in the message about a name that several clusters have. */
const pathsShownMax = 5;
/** The question asks for this many copies: one more than the message names, so that the message can say that there are more. */
export const oneAnswerLimit = pathsShownMax + 1;

/**
 * `lines` answer a list of all copies with this name. Throws NotFound if there is none, Conflict if there are several, and Unavailable if the only place that may
 * have the copy is away.
 */
export async function oneAnswer(
  lines: AsyncIterable<FleetLine>,
  question: ListQuestion,
  key: ObjectKey,
): Promise<ApiResponse> {
  const items: Item[] = [];
  const aways: Away[] = [];
  for await (const line of lines) {
    if (line.type === 'item') items.push(line.item);
    if (line.type === 'away') aways.push(line.away);
  }
  const [item, ...others] = items;
  if (item && others.length === 0) return answerOf(item, question, aways);
  if (item) throw ambiguous(key, items);
  if (question.at !== undefined && aways[0]) throw new BanyanError('Unavailable', awayText(aways[0]));
  const { message, details } = notFound(key);
  const missing = aways.length === 0 ? '' : `; not all places answered: ${aways.map(awayText).join('; ')}`;
  throw new BanyanError('NotFound', `${message}${missing}`, details);
}

function answerOf(item: Item, { form, kind }: ListQuestion, aways: readonly Away[]): ApiResponse {
  const object = stamped(item, String(item.revision));
  const headers = warned(aways.map(awayText));
  if (form.as !== 'Table') return { status: 200, body: Buffer.concat([...object, Buffer.from('\n')]), headers };
  const head = {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${form.version}`,
    metadata: { resourceVersion: String(item.revision) },
    columnDefinitions: fleetColumns(kind),
  };
  const text = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  return { status: 200, body: Buffer.concat([text, ...object, Buffer.from(']}\n')]), headers };
}

function ambiguous(key: ObjectKey, items: readonly Item[]): BanyanError {
  const paths = items.slice(0, pathsShownMax).map(({ path }) => clusterOf(path));
  const more = items.length > pathsShownMax ? ', and more' : '';
  const [first = ''] = paths;
  const remedy = `?at=${first}, or list with -l banyan.io/path=${pathValue(first)} --field-selector metadata.name=${key.name}`;
  const message = `several clusters have ${formatGroupResource(key)} "${key.name}": ${paths.join(', ')}${more}; name one of them: ${remedy}`;
  return new BanyanError('Conflict', message, notFound(key).details);
}
