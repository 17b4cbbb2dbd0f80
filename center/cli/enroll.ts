/**
 * `banyan enroll PATH`: admits an agent that runs elsewhere, beside a real cluster. Prints a certificate for exactly that path, and its key, as the Secret
 * that the chart uses (agent.identity.secretName).
 */
import { stringify } from 'yaml';
import type { AgentCertificate } from '../supervisor/tree-pki.ts';
import { type AdmissionRequest, type Api, admission } from './admission.ts';

export interface Enrolment extends AdmissionRequest {
  /** The name of the Secret. */
  readonly secret: string;
}

/** Returns the Secret as YAML. If the agent can't be admitted, no certificate is issued and no object is made. */
export async function enroll(
  api: Api,
  { secret, ...request }: Enrolment,
  issue: (path: string) => Promise<AgentCertificate>,
  warn: (line: string) => void,
): Promise<string> {
  const admit = await admission(api, 'enroll', request, warn);
  const { caPem, certPem, keyPem } = await issue(request.path);
  await admit();
  return stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret },
    type: 'kubernetes.io/tls',
    stringData: { 'ca.crt': caPem, 'tls.crt': certPem, 'tls.key': keyPem },
  });
}
