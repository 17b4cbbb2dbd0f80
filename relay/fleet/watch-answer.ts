/** The answer to a watch: the lines of the fleet as events of Kubernetes. */
import type { StreamedResponse } from '../../core/apiserver/http/requests.ts';
import { kubernetesStatusOf } from '../../core/apiserver/http/status.ts';
import { warned } from '../../core/apiserver/http/warnings.ts';
import { table } from '../../core/apiserver/table/table.ts';
import { formatApiVersion } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { warningsOf } from './away.ts';
import { type Away, type FleetLine, type Item, stamped } from './fleet-lines.ts';
import type { WatchQuestion } from './fleet-question.ts';
import { fleetColumns } from './item-form.ts';

/** As often as the Kubernetes API server sends them. */
const bookmarkEveryMs = 60_000;

export interface WatchAnswerOptions {
  readonly question: WatchQuestion;
  readonly kindName: string;
  readonly away: readonly Away[];
  readonly bookmarks: boolean;
  /** The client asked for a bookmark after all present objects. */
  readonly sendInitialEvents: boolean;
  readonly clock: Clock;
}

/** Throws the error of a watch that can't begin. A watch that has begun reports its error as an event. */
export async function watchAnswer(
  lines: AsyncIterable<FleetLine>,
  options: WatchAnswerOptions,
): Promise<StreamedResponse> {
  const source = lines[Symbol.asyncIterator]();
  await source.next();
  return { status: 200, headers: warned(warningsOf(options.away, [])), pieces: events(source, options) };
}

async function* events(source: AsyncIterator<FleetLine>, options: WatchAnswerOptions): AsyncGenerator<Uint8Array> {
  const { clock, bookmarks, sendInitialEvents } = options;
  let isFirst = true;
  let bookmarkAtMs = clock.monotonicMs();
  try {
    for (let next = await source.next(); !next.done; next = await source.next()) {
      const line = next.value;
      if (line.type === 'event') {
        yield event(line.event, objectOf(line.item, line.position, options, isFirst));
        isFirst = false;
      }
      if (line.type !== 'position') continue;
      if (line.isComplete && sendInitialEvents)
        yield bookmark(line.position, options, { 'k8s.io/initial-events-end': 'true' });
      else if (bookmarks && clock.monotonicMs() - bookmarkAtMs >= bookmarkEveryMs)
        yield bookmark(line.position, options);
      else continue;
      bookmarkAtMs = clock.monotonicMs();
    }
  } catch (error) {
    if (!(error instanceof BanyanError)) throw error;
    yield event('ERROR', [Buffer.from(JSON.stringify(kubernetesStatusOf(error).body))]);
  } finally {
    await source.return?.();
  }
}

function event(type: string, object: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), ...object, Buffer.from('}\n')]);
}

function objectOf(item: Item, position: string, { question }: WatchAnswerOptions, isFirst: boolean): Uint8Array[] {
  const { form, kind } = question;
  if (form.as !== 'Table') return stamped(item, position);
  const head = table(isFirst ? fleetColumns(kind) : [], [], { resourceVersion: position }, form.version);
  // The rows are the last field of the table.
  return [Buffer.from(JSON.stringify(head).slice(0, -']}'.length)), ...stamped(item, position), Buffer.from(']}')];
}

function bookmark(
  position: string,
  { question, kindName }: WatchAnswerOptions,
  annotations?: Record<string, string>,
): Buffer {
  const { form, kind } = question;
  const metadata = { resourceVersion: position, ...(annotations ? { annotations } : {}) };
  const object = { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${form.version}`, metadata };
  const marked =
    form.as === 'Table'
      ? table([], [{ cells: [], object }], { resourceVersion: position }, form.version)
      : { kind: kindName, apiVersion: formatApiVersion(kind.group, kind.version), metadata };
  return event('BOOKMARK', [Buffer.from(JSON.stringify(marked))]);
}
