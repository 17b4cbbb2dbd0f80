/** Groups of the Kubernetes project need a note that the project has approved the definition, or that it has not. */
import { invalidField, required } from '../../object/field-error.ts';
import type { ObjectMeta } from '../../object/meta.ts';
import type { Cause } from '../../runtime/errors.ts';

const annotation = 'api-approved.kubernetes.io';
const field = `metadata.annotations[${annotation}]`;
const more = 'see https://github.com/kubernetes/enhancements/pull/1111';

type Approval = 'missing' | 'approved' | 'unapproved' | 'invalid';

/** An update may leave the approval as it is. */
export function checkApproval(group: string, next: ObjectMeta, old: ObjectMeta | undefined): Cause[] {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group)) return [];
  const approval = approvalOf(next);
  if (old && approvalOf(old) === approval) return [];
  const needed = `protected groups must have approval annotation ${JSON.stringify(annotation)}`;
  if (approval === 'missing') return [required(field, `${needed}, ${more}`)];
  if (approval !== 'invalid') return [];
  const why = `${needed} with either a URL or a reason starting with "unapproved", ${more}`;
  return [invalidField(field, next.annotations?.[annotation], why)];
}

function approvalOf({ annotations }: ObjectMeta): Approval {
  const text = annotations?.[annotation] ?? '';
  if (text === '') return 'missing';
  if (text.startsWith('unapproved')) return 'unapproved';
  return /^[a-z][a-z\d+.-]*:\/\/[^/?#]/i.test(text) && URL.canParse(text) ? 'approved' : 'invalid';
}
