/** Asks a real API server or the own one, and gives the answer in a form that can be compared. */
import { kubernetesStatusOf } from '../../../core/apiserver/http/status.ts';
import { warned } from '../../../core/apiserver/http/warnings.ts';
import { compareText } from '../../../core/object/text-order.ts';
import type { HandlerBench } from '../../unit/core/apiserver/http/handler-bench.ts';
import type { ApiCaller } from '../api-caller.ts';
import { masked, onlyReal } from './accepted-differences.ts';
import type { Question } from './questions.ts';

/** Status and reason, the object, message or causes, warnings: each is a line, in the order of the answer. */
export type Answer = readonly string[];

interface Status {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly group?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly causes?: readonly { readonly reason?: string; readonly field?: string; readonly message?: string }[];
  };
}

/** Undefined: there is no answer. */
export async function askReal(api: ApiCaller, { method, url, type, body }: Question): Promise<Answer | undefined> {
  try {
    const { status, text, warnings } = await api.call(method, url, {
      body: sent(body),
      headers: { 'content-type': type },
    });
    return answerOf(type, status, status < 300 ? {} : (JSON.parse(text) as Status), warnings, true);
  } catch (error) {
    // Its own rule has failed, and it ends the request without an answer.
    if ((error as { code?: string }).code === 'ECONNRESET') return undefined;
    throw error;
  }
}

export async function askOwn(bench: HandlerBench, { method, url, type, body }: Question): Promise<Answer> {
  try {
    const { status, headers } = await bench.call(method, url, {
      body: sent(body) as object,
      headers: { 'content-type': type },
    });
    return answerOf(type, status, {}, [headers.warning ?? []].flat(), false);
  } catch (error) {
    const status = kubernetesStatusOf(error);
    return answerOf(type, status.http, status.body, [warned(status.warnings ?? []).warning ?? []].flat(), false);
  }
}

/** A text is sent as it is. */
function sent(body: unknown): unknown {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function answerOf(
  type: string,
  status: number,
  { reason = '', message = '', details }: Status,
  warnings: readonly string[],
  isReal: boolean,
): Answer {
  const causes = (details?.causes ?? [])
    .map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`)
    .filter((cause) => !isReal || !onlyReal(cause.slice(cause.indexOf(' ') + 1)));
  const once = causes.filter((cause, i) => !cause.includes(' metadata.') || causes.indexOf(cause) === i);
  // A message that lists causes says nothing more than they do.
  const isListed = message === '' || (details?.causes ?? []).length > 0;
  const said = isListed ? inOrderOfKeys(inOrderOfManagers(once)) : [inOrderOfFields(message)];
  const { kind = '', group = '', name = '' } = details ?? {};
  const of = kind || name ? [`of ${kind}.${group} ${name}`] : [];
  // Kubernetes calls the mistakes of a strategic merge patch errors of its own.
  const isMistakenPatch = isReal && status === 500 && reason === '' && type.includes('strategic');
  const answered = isMistakenPatch ? '400 BadRequest' : `${status} ${reason}`.trim();
  return [answered, ...of, ...said.map(masked), ...warnings.map((text) => `warning ${text}`)];
}

/** The managers of fields and the fields of a configuration are maps in Go, too. */
function inOrderOfManagers(causes: readonly string[]): string[] {
  const managerOf = (cause: string) => (cause.startsWith('FieldManagerConflict') ? cause.replace(/^.*?: /, '') : '');
  return causes.toSorted((a, b) => compareText(managerOf(a), managerOf(b)));
}

function inOrderOfFields(message: string): string {
  const [first, ...lines] = message.split('\n');
  return message.startsWith('failed to create typed patch object') ? [first, ...lines.sort()].join('\n') : message;
}

/** Go visits the keys of a map in any order. So causes that follow each other and differ in the key alone have the order of their texts. */
function inOrderOfKeys(causes: readonly string[]): string[] {
  const field = (cause: string) =>
    cause
      .replace(/^\S+ /, '')
      .replace(/\.limits(: Required value: Limit must be set for non overcommitable)/, '.requests$1')
      .replace(/\.\w+(: Forbidden: must populate the given metric source only)$/, '$1')
      .replace(/(\[[^\]]*\])?: .*$/s, '');
  const runs: string[][] = [];
  for (const cause of causes) {
    const run = runs.at(-1);
    if (run && field(run[0]!) === field(cause)) run.push(cause);
    else runs.push([cause]);
  }
  return runs.flatMap((run) => run.sort());
}
