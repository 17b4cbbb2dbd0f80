import { describe, expect, it } from 'vitest';
import { auditDecision } from '../../../../core/audit/policy.ts';
import { defaultAuditPolicy, parseAuditPolicy } from '../../../../core/audit/policy-file.ts';

const head = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n';
const problemOf = (rules: string) => {
  try {
    parseAuditPolicy(`${head}${rules}`, 'policy.yaml');
  } catch (error) {
    return (error as Error).message;
  }
  return 'no problem';
};

describe('a policy file', () => {
  it('is read', () => {
    const text = `${head}omitStages: [RequestReceived]\nrules:\n- level: Metadata\n  resources: [{group: "", resources: [secrets]}]\n- level: None\n  nonResourceURLs: ["/health*", "*"]\n`;
    const policy = parseAuditPolicy(text, 'policy.yaml');
    expect(policy.omitStages).toEqual(['RequestReceived']);
    expect(policy.rules.map(({ level }) => level)).toEqual(['Metadata', 'None']);
  });

  it.each([
    ['rules: [{level: Metdata}]', /policy\.yaml.*rules\[0\]\.level.*Metadata/],
    ['rules: [{level: None}, {level: None, user: [joe]}]', /rules\[1\]\.user.*did you mean "users"/],
    ['rules: []', /rules.*at least one rule/],
    ['rules: [{level: None, omitStages: [Received]}]', /rules\[0\]\.omitStages\[0\].*RequestReceived/],
    ['rules: [{level: None, nonResourceURLs: [health]}]', /rules\[0\]\.nonResourceURLs\[0\].*begin with/],
    ['rules: [{level: None, nonResourceURLs: ["/a*b"]}]', /rules\[0\]\.nonResourceURLs\[0\].*only at the end/],
    ['rules: [{level: None, nonResourceURLs: ["*"], namespaces: [a]}]', /nonResourceURLs.*write two rules/],
    ['rules: [{level: None, resources: [{group: apps/v1}]}]', /rules\[0\]\.resources\[0\]\.group.*without a version/],
    ['rules: [{level: None, resources: [{group: "*"}]}]', /resources\[0\]\.group.*name of an API group/],
    ['rules: [{level: None, resources: [{resourceNames: [a]}]}]', /resources\[0\]\.resourceNames.*add "resources"/],
  ])('names rule, field and remedy: %s', (rules, expected) => {
    expect(problemOf(rules)).toMatch(expected);
  });

  it('is refused in another version', () => {
    expect(() =>
      parseAuditPolicy('apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]', 'p'),
    ).toThrow(/apiVersion.*audit\.k8s\.io\/v1/);
  });
});

describe('the default policy', () => {
  it('never has bodies', () => {
    expect(defaultAuditPolicy.rules.filter(({ level }) => level !== 'Metadata' && level !== 'None')).toEqual([]);
  });

  it('has reads of Secrets, and no other reads', () => {
    const read = (resource: string) => ({
      user: { name: 'joe', groups: [] },
      verb: 'get',
      apiGroup: '',
      resource,
      subresource: '',
      namespace: 'a',
      name: 'x',
    });
    expect(auditDecision(defaultAuditPolicy, read('secrets')).level).toBe('Metadata');
    expect(auditDecision(defaultAuditPolicy, read('pods')).level).toBe('None');
  });
});
