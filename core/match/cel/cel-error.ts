/** What is wrong with an expression, or went wrong in it. */

export type CelErrorKind = 'syntax' | 'type' | 'evaluation' | 'cost';

export class CelError extends Error {
  readonly kind: CelErrorKind;
  /** A field or an item that the expression names is not there. */
  readonly isMissing: boolean;

  constructor(kind: CelErrorKind, message: string, options: { cause?: unknown; isMissing?: boolean } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'CelError';
    this.kind = kind;
    this.isMissing = options.isMissing ?? false;
  }
}
