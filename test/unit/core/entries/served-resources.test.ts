import { expect, it } from 'vitest';
import { formatServed, parseServed } from '../../../../core/entries/served-resources.ts';

it('a served resource and its versions are encoded in one text, and are decoded again', () => {
  for (const one of [
    { group: '', resource: 'pods', versions: ['v1'] },
    { group: 'autoscaling', resource: 'horizontalpodautoscalers', versions: ['v2', 'v1'] },
    { group: 'shop.example.com', resource: 'signs', versions: ['v1beta1'] },
  ]) {
    expect(parseServed(formatServed(one))).toEqual(one);
  }
});

it.each(['', 'pods', '/pods', '/pods:', 'apps/Deployments:v1', 'apps/deploy/ments:v1', `${'a'.repeat(254)}/pods:v1`])(
  '%j is no valid resource',
  (text) => {
    expect(parseServed(text)).toBeUndefined();
  },
);
