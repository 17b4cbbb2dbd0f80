/**
 * The answer to a list: the lines of the fleet as a list of Kubernetes or a Table. Warnings are headers, so the server makes the beginning of the list before it
 * sends anything. A page fits in completely. A longer list is sent while it is made.
 */
import type { ApiResponse, StreamedResponse } from '../../core/apiserver/http/requests.ts';
import { warned } from '../../core/apiserver/http/warnings.ts';
import { formatApiVersion } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { awayText, warningsOf } from './away.ts';
import { type Away, type FleetLine, type Item, type Stale, stamped } from './fleet-lines.ts';
import type { ListQuestion } from './fleet-question.ts';
import { fleetColumns } from './item-form.ts';
import { encodeToken } from './list-token.ts';

/** Bytes that an answer holds before it is sent: more than a page of 500 Deployments. */
const heldBytesMax = 2 * 1024 * 1024;
/** Items are joined to pieces of this size. */
const pieceBytes = 64 * 1024;

export interface ListAnswerOptions {
  readonly question: ListQuestion;
  readonly listKind: string;
  /** Places that are known to be away before the list is made. */
  readonly away: readonly Away[];
  /** Called when the answer is broken off, because this place is away and the client was not told. */
  brokenOff(away: Away): void;
}

export async function listAnswer(
  lines: AsyncIterable<FleetLine>,
  options: ListAnswerOptions,
): Promise<ApiResponse | StreamedResponse> {
  const text = new ListText(options);
  const source = lines[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  try {
    while (heldBytes < heldBytesMax) {
      const { value, done } = await source.next();
      if (done) throw new BanyanError('Internal', 'a list ended without its last line');
      const bytes = text.take(value);
      if (bytes) {
        held.push(bytes);
        heldBytes += bytes.length;
      }
      if (value.type !== 'end') continue;
      await source.return?.();
      return { status: 200, body: Buffer.concat(held), headers: text.warnings() };
    }
  } catch (error) {
    await source.return?.();
    throw error;
  }
  const headers = text.warnings();
  text.closeWarnings();
  return { status: 200, headers, pieces: rest(held, source, text) };
}

async function* rest(held: Uint8Array[], source: AsyncIterator<FleetLine>, text: ListText): AsyncGenerator<Uint8Array> {
  try {
    yield Buffer.concat(held.splice(0));
    let piece: Uint8Array[] = [];
    let bytes = 0;
    while (true) {
      const { value, done } = await source.next();
      if (done && !text.isComplete) throw new BanyanError('Unavailable', 'this node ends');
      const more = done ? undefined : text.take(value);
      if (more) {
        piece.push(more);
        bytes += more.length;
      }
      if (bytes < pieceBytes && !done) continue;
      yield Buffer.concat(piece);
      piece = [];
      bytes = 0;
      if (done) return;
    }
  } finally {
    await source.return?.();
  }
}

class ListText {
  readonly #options: ListAnswerOptions;
  readonly #aways: Away[];
  readonly #stales: Stale[] = [];
  #areWarningsSent = false;
  /** Whether the text has its end. */
  isComplete = false;
  #position = '';
  #last: Item | undefined;

  constructor(options: ListAnswerOptions) {
    this.#options = options;
    // A page asks only the places that it needs, and says which of them are away. A list without a limit asks all of them.
    this.#aways = options.question.limit === 0 ? [...options.away] : [];
  }

  warnings(): Record<string, string[]> {
    return warned(warningsOf(this.#aways, this.#stales));
  }

  /** Call it when the headers are sent. */
  closeWarnings(): void {
    this.#areWarningsSent = true;
  }

  /** The text for one line. Throws Unavailable if a place is away and the headers without it are sent: the client must see that the list is not complete. */
  take(line: FleetLine): Uint8Array | undefined {
    switch (line.type) {
      case 'begin':
        this.#position = line.position;
        return this.#head();
      case 'item':
        return this.#item(line.item);
      case 'away':
        this.#away(line.away);
        return undefined;
      case 'stale':
        this.#stales.push(line.stale);
        return undefined;
      case 'end':
        this.isComplete = true;
        return this.#tail(line);
      default:
        return undefined;
    }
  }

  #away(away: Away): void {
    const isKnown = this.#aways.some(({ path }) => path === away.path);
    if (isKnown) return;
    if (this.#areWarningsSent) {
      this.#options.brokenOff(away);
      throw new BanyanError('Unavailable', awayText(away));
    }
    this.#aways.push(away);
  }

  #head(): Buffer {
    const { question, listKind } = this.#options;
    const { kind, form } = question;
    if (form.as === 'Table') {
      const head = { kind: 'Table', apiVersion: `meta.k8s.io/${form.version}`, columnDefinitions: fleetColumns(kind) };
      return Buffer.from(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
    }
    const type =
      form.as === 'object'
        ? { kind: listKind, apiVersion: formatApiVersion(kind.group, kind.version) }
        : { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.version}` };
    return Buffer.from(`${JSON.stringify(type).slice(0, -1)},"items":[`);
  }

  #item(item: Item): Buffer {
    const comma = this.#last ? [Buffer.from(',')] : [];
    this.#last = item;
    return Buffer.concat([...comma, ...stamped(item, String(item.revision))]);
  }

  #tail({ more, remaining }: { readonly more: boolean; readonly remaining?: number }): Buffer {
    const { question } = this.#options;
    const isSelected = question.labelSelector !== '' || question.fieldSelector !== '';
    const token =
      more && this.#last ? { continue: encodeToken({ position: this.#position, after: placeOf(this.#last) }) } : {};
    const count =
      more && remaining !== undefined && remaining > 0 && !isSelected ? { remainingItemCount: remaining } : {};
    const metadata = { resourceVersion: this.#position, ...token, ...count };
    return Buffer.from(`],"metadata":${JSON.stringify(metadata)}}\n`);
  }
}

function placeOf({ path, namespace, name }: Item): { path: string; namespace: string; name: string } {
  return { path, namespace, name };
}
