/** A frame as text, short enough for a line. Random numbers get names in the order of their appearance: E1 is an epoch, I1 a start of a process. */
import { identityOfCertificate } from '../../core/identity/peer-identity.ts';
import type { Entry, Frame, HeldPieces, Proof, ResumeTuple, Sealed } from '../../core/wire/generated/mesh.ts';
import { Feed, Hello, Welcome } from '../../core/wire/generated/mesh.ts';

const entriesShown = 4;
const bodyShown = 12;

export class FrameText {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** Hash of a key, hex -> the key: tombstones and lists have only hashes. */
  readonly #keys: ReadonlyMap<string, string>;

  constructor(keys: ReadonlyMap<string, string>) {
    this.#keys = keys;
  }

  name(letter: string, bytes: Uint8Array): string {
    if (bytes.length === 0) return '-';
    const hex = `${letter}${Buffer.from(bytes).toString('hex')}`;
    let name = this.#names.get(hex);
    if (name === undefined) {
      const count = (this.#counts.get(letter) ?? 0) + 1;
      this.#counts.set(letter, count);
      name = `${letter}${count}`;
      this.#names.set(hex, name);
    }
    return name;
  }

  of({ frame }: Frame): string {
    switch (frame?.$case) {
      case 'hello': {
        const { versionMin, versionMax, path, bootCounter, bootNonce, down, held } = frame.value;
        const boot = `start ${bootCounter} ${this.name('I', bootNonce)}`;
        return `hello "${path}" versions ${versionMin}-${versionMax}, ${boot}, down ${this.#tuple(down)}${this.#held(held)}`;
      }
      case 'welcome': {
        const { version, sessionSequence, up, downResumes, ready, held } = frame.value;
        const goes = downResumes ? 'down resumes' : 'down must be reconciled';
        return `welcome version ${version}, session ${sessionSequence}, ${goes}, ${readiness(ready)}, up ${this.#tuple(up)}${this.#held(held)}`;
      }
      case 'retry':
        return `retry after ${frame.value.afterMs} ms: ${frame.value.reason}: ${frame.value.message}`;
      case 'resume':
        return `resume ${feedName(frame.value.feed)}: ${frame.value.resumes ? 'resumes' : 'must be reconciled'}`;
      case 'batch': {
        const { feed, from, to, head, entries, ahead } = frame.value;
        return `batch${ahead ? ' ahead' : ''} ${feedName(feed)} ${from}..${to} head ${head} [${this.#entries(entries)}]`;
      }
      case 'piece': {
        const { feed, contentHash, offset, total, data } = frame.value;
        return `piece ${feedName(feed)} of ${this.name('C', contentHash)}: ${offset}..${offset + data.length} of ${total}`;
      }
      case 'credit':
        return `credit ${feedName(frame.value.feed)} ${frame.value.bytes}`;
      case 'ack':
        return `ack ${feedName(frame.value.feed)} ${frame.value.cursor}`;
      case 'beat': {
        const { head, ready, digest } = frame.value;
        return `beat head ${head}, ${readiness(ready)}${digest ? `, ${digest.count} rows ${this.name('D', digest.sum)}` : ''}`;
      }
      case 'reconcileRequest': {
        const { feed, round, prefixes, wanted } = frame.value;
        const asked = prefixes.map(
          ({ prefix, fingerprint }) => `${digits(prefix)}${fingerprint.length === 0 ? ' (none)' : ''}`,
        );
        const keys = wanted.map((hash) => this.#key(hash)).join(' ');
        return `reconcile ${feedName(feed)} round ${round}: prefixes [${asked.join(', ')}], wants [${keys}]`;
      }
      case 'reconcileReply': {
        const { feed, round, answers, entries, head } = frame.value;
        const lists = answers.map(({ kind, rows }) =>
          kind === 1 ? 'same' : kind === 2 ? 'split' : `list ${rows.length / 30}`,
        );
        return `reply ${feedName(feed)} round ${round}: [${lists.join(', ')}] head ${head} [${this.#entries(entries)}]`;
      }
      case 'proof':
        return this.#proof(frame.value);
      case 'goodbye':
        return `goodbye: ${frame.value.reason}, back in ${frame.value.returnAfterMs} ms`;
      default:
        return frame?.$case ?? 'a frame of a later version';
    }
  }

  /** The sender, by the certificate in the proof. */
  #proof({ challenge, hello, welcome }: Proof): string {
    if (hello)
      return `proof ${signerOf(hello)}: ${this.of({ frame: { $case: 'hello', value: Hello.decode(hello.body) } })}`;
    if (welcome)
      return `proof ${signerOf(welcome)}: ${this.of({ frame: { $case: 'welcome', value: Welcome.decode(welcome.body) } })}`;
    return `proof: challenge ${this.name('N', challenge)}`;
  }

  #tuple(tuple: ResumeTuple | undefined): string {
    if (!tuple || tuple.epoch.length === 0) return 'never attached';
    const { epoch, incarnation, cursor, seenHead } = tuple;
    return `${this.name('E', epoch)} ${this.name('I', incarnation)} cursor ${cursor} seen ${seenHead}`;
  }

  #held(held: readonly HeldPieces[]): string {
    return held.map(({ contentHash, bytes }) => `, has ${bytes} of ${this.name('C', contentHash)}`).join('');
  }

  #entries(entries: readonly Entry[]): string {
    const shown = entries.slice(0, entriesShown).map((entry) => {
      if (entry.tombstone) return `-${this.#key(entry.keyHash)}`;
      if (entry.pieces.length > 0) return `${this.#key(entry.keyHash)}=${this.name('C', entry.pieces)}`;
      const body = entry.body.toString();
      return `${entry.key}=${body.length > bodyShown ? `<${body.length} bytes>` : body}`;
    });
    if (entries.length > entriesShown) shown.push(`and ${entries.length - entriesShown} more`);
    return shown.join(' ');
  }

  #key(hash: Uint8Array): string {
    return this.#keys.get(Buffer.from(hash).toString('hex')) ?? '?';
  }
}

function signerOf({ certificates: [own] }: Sealed): string {
  const { role, path } = identityOfCertificate(own!);
  return `by the ${role} "${path}"`;
}

function feedName(feed: Feed): string {
  return feed === Feed.FEED_DOWN ? 'down' : feed === Feed.FEED_UP ? 'up' : `feed ${feed}`;
}

function readiness(ready: boolean): string {
  return ready ? 'ready' : 'not ready';
}

/** The digits of a prefix; `all` for none. */
function digits(prefix: Uint8Array): string {
  return Array.from(prefix, (digit) => digit.toString(16)).join('') || 'all';
}
