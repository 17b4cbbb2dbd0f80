/** What is wrong with an expression, or went wrong in it. */

export type CelErrorKind = 'syntax' | 'type' | 'evaluation' | 'cost';

export class CelError extends Error {
  readonly kind: CelErrorKind;

  constructor(kind: CelErrorKind, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'CelError';
    this.kind = kind;
  }
}
