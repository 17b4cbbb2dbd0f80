/** Checks of `spec.rollout` that no schema can express: waves that could never end, invalid amounts, and gates that could not be asked. */
import { CelError } from '../../match/cel/cel-error.ts';
import { stableStringify } from '../../object/canonical.ts';
import { duplicate, forbiddenField, invalidField, required } from '../../object/field-error.ts';
import { checkSelector } from '../../object/label-selector-check.ts';
import { checkDnsSubdomain } from '../../object/names.ts';
import { compileGate } from '../../rollout/gates.ts';
import type { Amount, Gate, RolloutSpec, Wave } from '../../rollout/spec.ts';
import type { Cause } from '../../runtime/errors.ts';

/** Returns no causes if the rollout did not change. */
export function checkRollout(rollout: RolloutSpec | undefined, old: RolloutSpec | undefined): Cause[] {
  if (!rollout || (old && stableStringify(old) === stableStringify(rollout))) return [];
  const field = 'spec.rollout';
  const waves = rollout.waves ?? [];
  return [
    ...checkAmount(rollout.maxUnavailable, `${field}.maxUnavailable`, 1),
    ...checkAmount(rollout.errorBudget, `${field}.errorBudget`, 0),
    ...waves.flatMap((wave, index) => checkWave(wave, `${field}.waves[${index}]`, rollout.progressDeadlineSeconds)),
    ...checkNames(waves, `${field}.waves`),
    ...checkGrowth(waves, 'fraction', `${field}.waves`),
    ...checkGrowth(waves, 'count', `${field}.waves`),
    ...checkSides(rollout, `${field}.waves`),
  ];
}

function checkAmount(amount: Amount | undefined, field: string, min: number): Cause[] {
  if (amount === undefined) return [];
  const isRight =
    typeof amount === 'number'
      ? Number.isInteger(amount) && amount >= min
      : /^\d{1,3}(\.\d{1,2})?%$/.test(amount) && isShare(Number(amount.slice(0, -1)), min);
  const shares = min > 0 ? 'a share above 0%, up to 100%' : 'a share from 0% to 100%';
  return isRight ? [] : [invalidField(field, amount, `must be an integer of at least ${min}, or ${shares}`)];
}

function isShare(percent: number, min: number): boolean {
  return percent <= 100 && (min === 0 || percent > 0);
}

function checkWave(wave: Wave, field: string, deadlineSeconds: number): Cause[] {
  const causes: Cause[] = [];
  const given = (['selector', 'fraction', 'count'] as const).filter((name) => wave[name] !== undefined);
  if (given.length === 0)
    causes.push(required(field, 'give one of selector, fraction and count: it decides who belongs to the wave'));
  if (given.length > 1) causes.push(forbiddenField(field, `${given.join(' and ')} exclude each other: keep one`));
  if (wave.fraction === 0) causes.push(invalidField(`${field}.fraction`, 0, 'nobody belongs to the wave; take it out'));
  if (wave.selector) causes.push(...checkSelector(wave.selector, `${field}.selector`));
  const { soakSeconds = 0, gates = [] } = wave;
  if (soakSeconds > deadlineSeconds) {
    const detail = `the wave would never end: it is more than progressDeadlineSeconds (${deadlineSeconds})`;
    causes.push(invalidField(`${field}.soakSeconds`, soakSeconds, detail));
  }
  return [...causes, ...gates.flatMap((gate, index) => checkGate(gate, `${field}.gates[${index}]`))];
}

function checkGate(gate: Gate, field: string): Cause[] {
  const given = (['expression', 'rolloutGate', 'webhook'] as const).filter((name) => gate[name] !== undefined);
  if (given.length === 0) return [required(field, 'give one of expression, rolloutGate and webhook')];
  if (given.length > 1)
    return [forbiddenField(field, `${given.join(' and ')} exclude each other: make them two gates`)];
  if (gate.expression === undefined && (gate.minimumSample !== undefined || gate.minimumFresh !== undefined)) {
    return [forbiddenField(field, 'minimumSample and minimumFresh belong to an expression')];
  }
  if (gate.expression !== undefined) return checkExpression(gate.expression, `${field}.expression`);
  if (gate.rolloutGate !== undefined) {
    const wrong = checkDnsSubdomain(gate.rolloutGate);
    return wrong === undefined
      ? []
      : [invalidField(`${field}.rolloutGate`, gate.rolloutGate, `no RolloutGate has this name: ${wrong}`)];
  }
  const { url = '', caBundle } = gate.webhook ?? {};
  return [...checkUrl(url, `${field}.webhook.url`), ...checkCertificates(caBundle, `${field}.webhook.caBundle`)];
}

function checkExpression(expression: string, field: string): Cause[] {
  try {
    compileGate(expression);
    return [];
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    const numbers = /int/.test(error.message) ? '; counts are doubles: write 3.0 for 3' : '';
    return [invalidField(field, expression, `compilation failed: ${error.message}${numbers}`)];
  }
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

function checkUrl(text: string, field: string): Cause[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password) return [invalidField(field, '…', 'must hold no password: use a certificate')];
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.has(url.hostname))) return [];
  return [invalidField(field, text, 'must be a URL with https, or with http to localhost, 127.0.0.1 or [::1]')];
}

const beginning = '-----BEGIN CERTIFICATE-----';
const ending = '-----END CERTIFICATE-----';

/** Without this check, a mistake in the certificates would show only when the webhook is called. */
function checkCertificates(bundle: string | undefined, field: string): Cause[] {
  if (bundle === undefined) return [];
  const pem = Buffer.from(bundle, 'base64').toString();
  const begin = pem.indexOf(beginning);
  if (begin >= 0 && pem.lastIndexOf(ending) > begin + beginning.length) return [];
  return [invalidField(field, '…', 'must be certificates in PEM, in base64: base64 -w0 ca.crt')];
}

function checkNames(waves: readonly Wave[], field: string): Cause[] {
  const seen = new Set<string>();
  return waves.flatMap(({ name }, index) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [duplicate(`${field}[${index}].name`, name)];
  });
}

/**
 * Fractions and counts are shares of all destinations, including the destinations of earlier waves. So each value must be greater than the values before
 * it.
 */
function checkGrowth(waves: readonly Wave[], of: 'fraction' | 'count', field: string): Cause[] {
  let max = 0;
  return waves.flatMap((wave, index) => {
    const value = wave[of];
    if (value === undefined) return [];
    const before = max;
    max = Math.max(max, value);
    if (value > before || value === 0) return [];
    return [
      invalidField(
        `${field}[${index}].${of}`,
        value,
        `must be greater than the ${before} of an earlier wave: the number refers to all destinations`,
      ),
    ];
  });
}

function checkSides({ strategy, waves = [] }: RolloutSpec, field: string): Cause[] {
  if (strategy !== 'BlueGreen') return [];
  const sides = waves.filter(({ selector }) => selector !== undefined);
  if (waves.length === 2 && sides.length === 2) return [];
  return [
    invalidField(
      field,
      waves.map(({ name }) => name),
      'strategy BlueGreen needs exactly two waves, each with a selector',
    ),
  ];
}
