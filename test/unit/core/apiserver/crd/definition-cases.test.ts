import { describe, expect, it } from 'vitest';
import { customKind } from '../../../../../core/apiserver/crd/custom-kind.ts';
import { checkDefinition } from '../../../../../core/apiserver/crd/definition-admission.ts';
import { definitionCases } from '../../../../support/definition-cases.ts';

const types = ['required str', 'min text', 'no spec'];
const cases = definitionCases().filter(({ name }) => !types.includes(name));
const accepted = cases.filter(({ definition }) => checkDefinition(definition).length === 0);

describe('the definitions that a real API server was asked about', () => {
  it('are accepted and refused', () => {
    expect(accepted.length).toBeGreaterThan(50);
    expect(cases.length - accepted.length).toBeGreaterThan(150);
  });

  it.each(accepted)('$name is accepted, so its schemas compile', ({ definition }) => {
    const { rules } = customKind(definition);
    const { group, names, versions } = definition.spec;
    for (const { name } of versions) {
      const object = { apiVersion: `${group}/${name}`, kind: names.kind, metadata: { name: 'a' }, spec: { a: null } };
      rules.prepare(object, name);
      expect(() => rules.validate(object, name)).not.toThrow();
    }
  });
});
