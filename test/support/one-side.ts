/** One side of a session, to which a test sends frames as bytes. The result is a short text about its state, and the contents of its store. */
import { BanyanError } from '../../core/runtime/errors.ts';
import type { SessionEnds } from '../../core/session/session-ends.ts';
import { prefixOf } from '../../core/store/keyspace.ts';
import type { Store } from '../../core/store/store.ts';
import { decodeFrame } from '../../core/wire/codec/frames.ts';
import type { LinkEvents } from '../../core/wire/link.ts';
import { ReplayLink } from './recorded-frames.ts';
import { content, SessionPair } from './session-pair.ts';

export type Side = 'parent' | 'child';

/** More rows than one list may have, so that the reconciliation splits prefixes. */
export const rowsOfSide = 70;

export class OneSide {
  readonly pair = new SessionPair();
  readonly link: ReplayLink;
  readonly store: Store;
  readonly ends: SessionEnds;
  #events: LinkEvents | undefined;
  #undecodable = false;

  constructor(side: Side) {
    const { pair } = this;
    for (let i = 0; i < rowsOfSide; i++) pair.put(`k${i}`, 'right');
    pair.child.store.write((t) => pair.child.producer.put(t, content('labels', '{}'), 0));
    this.link = new ReplayLink(side === 'parent' ? { path: 'eu:kid', role: 'agent' } : { path: 'eu', role: 'relay' });
    this.store = side === 'parent' ? pair.parent.store : pair.child.store;
    this.ends = side === 'parent' ? pair.parent.sessions.ends : pair.child.session.ends;
    if (side === 'parent') {
      this.#events = pair.parent.sessions.accept(this.link);
      return;
    }
    let dials = 0;
    pair.child.dialer.dial = (events) => {
      // The child dials again after the link ends. Only its first dial is answered.
      if (dials++ > 0) return Promise.reject(new BanyanError('Unavailable', 'nobody is there'));
      this.#events = events;
      return Promise.resolve(this.link);
    };
    pair.child.session.start();
  }

  async receive(bytes: Uint8Array): Promise<void> {
    await this.pair.run(3);
    if (this.link.closed !== undefined || this.#undecodable) return;
    try {
      this.#events?.onFrame(decodeFrame(bytes));
    } catch (error) {
      // The link breaks with the error.
      if (!(error instanceof BanyanError)) throw error;
      this.#undecodable = true;
      this.#events?.onClose(error);
    }
    await this.pair.run(3);
  }

  get outcome(): string {
    const [refused] = this.ends.refused.keys();
    if (refused) return `refused ${refused}`;
    const [end] = this.ends.by.keys();
    if (end) return `ends ${end}`;
    return this.#undecodable ? 'breaks off' : 'goes on';
  }

  /** Every key and value, so that two states can be compared. Without the records of when a child was last heard, which the end of every session changes. */
  dump(): string {
    const everything = { from: new Uint8Array(0), to: Buffer.alloc(8, 0xff) };
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
    return this.store.read((reader) =>
      [...reader.scan(everything)]
        .map(([key, value]) => `${hex(key)}=${hex(value)}`)
        .filter((row) => !row.startsWith(hex(prefixOf('heard'))))
        .join('\n'),
    );
  }
}
