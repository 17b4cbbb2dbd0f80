/**
 * Branches that no run of the simulation can reach, each with its reason. The list names a branch by the beginning of its line. So after a change of the
 * line, somebody has to check the branch again. These branches count as missed.
 */
interface Unreached {
  readonly why: string;
  /** The beginnings of the lines, keyed by file. */
  readonly lines: Readonly<Record<string, readonly string[]>>;
}

export const unreached: readonly Unreached[] = [
  {
    why: 'more children at once than these trees have',
    lines: {
      'core/session/admission.ts': [
        'if (this.#turnsAtMs.size >= turnsMax) this.#forgetLate(nowMs);',
        'if (this.#turnsAtMs.size >= turnsMax) return longestWaitMs;',
        '#forgetLate(nowMs: number): void {',
        'for (const [child, turnMs] of this.#turnsAtMs) if (turnMs + lateMs < nowMs) this.#turnsAtMs.delete(child);',
      ],
      'core/session/acknowledgements.ts': [
        'this.#timer = this.#cursors.size > 0 ? this.#clock.after(0, () => this.#turn()) : undefined;',
      ],
      'core/session/wakes.ts': ['if (rest.length > 0) this.#ports.defer(() => this.#produced(rest));'],
    },
  },
  {
    why: 'agents of one identity choose the active one in a real cluster',
    lines: {
      'core/session/node-identity.ts': [
        'const attachedNonce = theirs > own ? (forebear?.attachedNonce ?? before?.attachedNonce) : before?.attachedNonce;',
      ],
      'core/session/attach.ts': ['export function forgetAttachment(t: Transaction): void {'],
    },
  },
  {
    why: 'a broken invariant, by which the process ends',
    lines: {
      'core/feed/content.ts': [
        'if (!record) throw new Error(`the content ',
        "if (t.count(countKey(reference.hash), 1) === 1) throw new Error('a content that nobody names was referred to');",
      ],
      'core/feed/table.ts': ['if (other !== key) throw new Error('],
      'core/feed/producer.ts': ['if (!row) throw new Error('],
      'core/session/sending.ts': ['if (!batch) throw new Error('],
      'core/feed/reconcile.ts': ["if (!this.#first) throw new Error('a reconciliation without a reply');"],
      'core/feed/consumer.ts': ["if (entry.pieces) throw new Error('an entry whose content was not put together');"],
      'core/stream/stream-machine.ts': ['if (bytes > state.held) throw new Error('],
      'core/stream/stream-end.ts': ["if (this.#state.ending) throw new Error('written to a stream behind its end');"],
    },
  },
  {
    why: 'it takes a day',
    lines: { 'core/session/feed-alarm.ts': ['this.#timer = this.#clock.after(shownForMs, () => {'] },
  },
  {
    why: 'every simulated connection carries streams',
    lines: {
      'core/stream/streams.ts': ['if (!link.openStream) return failed('],
    },
  },
];

export function whyLeft(file: string, line: string): string | undefined {
  return unreached.find(({ lines }) => lines[file]?.some((one) => line.startsWith(one)))?.why;
}
