/** Checks the fields of CertificateSigningRequests, with the messages of Kubernetes (pkg/apis/certificates/validation). Pure. */
import { certificatesIn } from '../../identity/pem-certificates.ts';
import { duplicate, forbiddenField, invalidField, notSupported, required, tooLong } from '../../object/field-error.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../object/names.ts';
import type { Cause } from '../../runtime/errors.ts';
import { describeError } from '../../runtime/errors.ts';
import type { RequestCondition, SigningRequest } from './signing-request.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/certificate-signing-request-v1/ */
const knownUsages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
const secondsMin = 600;
/** A domain, a slash, and a path, as the name of a resource has room for. */
const signerNameMax = 571;

/** The fields of a new request, except for `spec.request`. */
export function checkNewRequest({ spec }: SigningRequest): Cause[] {
  const { usages = [], signerName = '', expirationSeconds } = spec;
  const causes: Cause[] = usages.length === 0 ? [required('spec.usages')] : [];
  for (const [index, usage] of usages.entries()) {
    const field = `spec.usages[${index}]`;
    if (!knownUsages.includes(usage)) causes.push(notSupported(field, usage, knownUsages));
    else if (usages.indexOf(usage) !== index) causes.push(duplicate(field, usage));
  }
  causes.push(...checkSignerName(signerName));
  if (expirationSeconds !== undefined && expirationSeconds < secondsMin) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    causes.push(invalidField('spec.expirationSeconds', expirationSeconds, why));
  }
  return causes;
}

function checkSignerName(name: string): Cause[] {
  const field = 'spec.signerName';
  if (name === '') return [required(field)];
  if (name === 'kubernetes.io/legacy-unknown')
    return [invalidField(field, name, 'the legacy signerName is not allowed via this API version')];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0)
    return [
      invalidField(field, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'"),
    ];
  if (name.length > signerNameMax) return [tooLong(field, signerNameMax)];
  const labels = domain.split('.');
  const causes = firstFlaw(labels, checkDnsLabel).map((flaw) => invalidField(field, domain, flaw));
  if (labels.length < 2)
    causes.push(invalidField(field, domain, 'should be a domain with at least two segments separated by dots'));
  return [...causes, ...firstFlaw(path.split('.'), checkDnsSubdomain).map((flaw) => invalidField(field, path, flaw))];
}

/** At most one flaw: those of further labels would look the same. */
function firstFlaw(labels: readonly string[], check: (label: string) => string | undefined): string[] {
  for (const label of labels) {
    const flaw = check(label);
    if (flaw !== undefined) return [`validating label ${JSON.stringify(label)}: ${flaw}`];
  }
  return [];
}

/** The conditions that people and signers write. `old`: the conditions before. */
export function checkConditions(conditions: readonly RequestCondition[], old: readonly RequestCondition[]): Cause[] {
  const field = 'status.conditions';
  const causes: Cause[] = [];
  for (const type of lasting) {
    if (has(old, type) && !has(conditions, type))
      causes.push(forbiddenField(field, `updates may not remove a condition of type ${JSON.stringify(type)}`));
  }
  for (const [index, { type = '', status }] of conditions.entries()) {
    const at = `${field}[${index}]`;
    if (type === '') causes.push(required(`${at}.type`));
    const allowed = lasting.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (!status) causes.push(required(`${at}.status`));
    else if (!allowed.includes(status)) causes.push(notSupported(`${at}.status`, status, allowed));
    const before = conditions.slice(0, index + 1);
    if (isDecision(type) && decisions.every((one) => has(before, one)))
      causes.push(invalidField(field, type, 'Approved and Denied conditions are mutually exclusive'));
    if (conditions.findIndex((one) => one.type === type) !== index) causes.push(duplicate(`${at}.type`, type));
  }
  return causes;
}

/** Decisions that a write of the status would add: only the subresource `approval` may. */
export function checkAdded(conditions: readonly RequestCondition[], old: readonly RequestCondition[]): Cause[] {
  const added = decisions.filter((type) => has(conditions, type) && !has(old, type));
  return added.map((type) =>
    forbiddenField('status.conditions', `updates may not add a condition of type ${JSON.stringify(type)}`),
  );
}

export function isDecision(type: string): boolean {
  return decisions.includes(type);
}

function has(all: readonly RequestCondition[], type: string): boolean {
  return all.some((one) => one.type === type);
}

const decisions: readonly string[] = ['Approved', 'Denied'];
/** Types of conditions that nobody takes back. */
const lasting: readonly string[] = [...decisions, 'Failed'];

/** The certificate that a signer writes, in base64. */
export function checkCertificate(certificate: string | undefined, old: string | undefined): Cause[] {
  const field = 'status.certificate';
  if (certificate === old) return [];
  if (old) return [forbiddenField(field, 'updates may not change existing certificate content')];
  const pem = Buffer.from(certificate ?? '', 'base64').toString('latin1');
  const shown = '<certificate data>';
  try {
    if (certificatesIn(pem).length > 0) return [];
    return [invalidField(field, shown, 'must contain at least one CERTIFICATE PEM block')];
  } catch (error) {
    return [invalidField(field, shown, describeError(error))];
  }
}

/** The conditions with the times that the writer has left out. `now`: RFC 3339. */
export function withTimes(
  conditions: readonly RequestCondition[],
  old: readonly RequestCondition[],
  now: string,
): RequestCondition[] {
  return conditions.map((condition) => {
    const before = old.find(({ type }) => type === condition.type);
    const isNew = before?.status !== condition.status;
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? (isNew ? now : (before?.lastTransitionTime ?? now)),
    };
  });
}

/** Why a certificate of a user can't have these usages. Undefined: it can. */
export function usageProblem(usages: readonly string[]): string | undefined {
  const optional = ['digital signature', 'key encipherment', 'client auth'];
  const other = usages.find((usage) => !optional.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
}
