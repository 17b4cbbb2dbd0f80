/** An error in an expression, found when it is compiled or when it is evaluated. */

/** `result`: the expression has another type than it must have. */
export type CelErrorKind = 'syntax' | 'type' | 'result' | 'evaluation' | 'cost';

export class CelError extends Error {
  readonly kind: CelErrorKind;
  /** True: the expression reads a field or an item that does not exist. */
  readonly isMissing: boolean;

  constructor(kind: CelErrorKind, message: string, options: { cause?: unknown; isMissing?: boolean } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'CelError';
    this.kind = kind;
    this.isMissing = options.isMissing ?? false;
  }
}
