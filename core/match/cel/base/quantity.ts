/** Kubernetes quantities (`100m`, `1.5Gi`, `2e3`) as exact numbers: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ */

const syntax = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/;
/** Decimal digits of the smallest unit of a quantity, 10⁻⁹. Values between two units are rounded away from zero. */
const nanoDigits = 9;

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

export class Quantity {
  /** The value in units of 10⁻⁹. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  equals(other: unknown): boolean {
    return other instanceof Quantity && other.nanos === this.nanos;
  }
}

/** Undefined: the text is no quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  const parts = syntax.exec(text);
  if (!parts) return undefined;
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = parts;
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(whole + fraction);
  const power = (exponent ? Number(exponent.slice(1)) : (decimalExponents[suffix] ?? 0)) - fraction.length + nanoDigits;
  const scaled = digits << BigInt(binaryExponents[suffix] ?? 0);
  const nanos = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power));
  return new Quantity(sign === '-' ? -nanos : nanos);
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
