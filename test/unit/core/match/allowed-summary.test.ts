import { describe, expect, it } from 'vitest';
import { allowedSummary } from '../../../../core/match/allowed-summary.ts';
import { openClaims, type SubtreeClaims } from '../../../../core/match/claims.ts';
import type { KeySummary } from '../../../../core/match/key-summary.ts';
import { encodeLabelSummary, type LabelSummary, type LocationLabels } from '../../../../core/match/label-summary.ts';
import { SummaryBounds } from '../../../../core/match/summary-bounds.ts';
import { type MatchRule, matchSummary } from '../../../../core/match/summary-match.ts';
import type { LabelRequirement } from '../../../../core/object/selector.ts';
import { compiledExpression } from '../../../../relay/placements/location-expression.ts';

const ofEu = { 'tree.banyan.io/1': 'eu' };
const claims: SubtreeClaims = {
  labels: { env: ['prod', 'test'], 'shop.example/*': ['*'] },
  properties: { 'carbon.gPerKWh': ['*'] },
};

function boundsOf(of: SubtreeClaims = claims, given: Record<string, string[]> = {}, path = 'eu') {
  return new SummaryBounds(path, of, (section, key) => new Set(given[`${section}/${key}`]));
}

function oneSet(place: LocationLabels): LabelSummary {
  return { leaves: 1, sets: [{ ...place, leaves: 1 }] };
}

function byKey(keys: Record<string, KeySummary>, more: Partial<LabelSummary> = {}): LabelSummary {
  return { leaves: 400, keys, properties: {}, targetLabels: {}, ...more };
}

const complete = (values: Record<string, number>): KeySummary => {
  return { present: Object.values(values).reduce((a, b) => a + b, 0), values, complete: true };
};
const unlisted = (present: number): KeySummary => ({ present, values: {}, complete: false });

function allowed(summary: LabelSummary, bounds = boundsOf()) {
  return allowedSummary(summary, bounds);
}

const label = (key: string, ...values: string[]): MatchRule => requiring({ key, operator: 'In', values });
const requiring = ({ key, operator, values }: LabelRequirement): MatchRule => ({
  selectors: [{ matchExpressions: [{ key, operator, ...(values ? { values: [...values] } : {}) }] }],
});
const where = (source: string): MatchRule => ({ selectors: [{}], expression: compiledExpression(source) });
const matches = (rule: MatchRule, summary: LabelSummary, bounds = boundsOf()) =>
  matchSummary(rule, allowed(summary, bounds).summary).matches;

describe('the part of a label summary that a child may claim', () => {
  it('leaves out labels, properties and labels of SyncTargets beyond the claims, and names them', () => {
    const place = {
      labels: { env: 'prod', clearance: 'top', 'shop.example/size': 'xl', 'site.banyan.io/room': '4' },
      properties: { 'carbon.gPerKWh': '12', 'threat.level': 'low', 'site.banyan.io/rack': 'b' },
      targetLabels: { env: 'stage' },
    };
    const { summary, refused } = allowed(oneSet(place));
    expect(summary.sets).toEqual([
      {
        leaves: 1,
        labels: { env: 'prod', 'shop.example/size': 'xl', 'site.banyan.io/room': '4', ...ofEu },
        properties: { 'carbon.gPerKWh': '12', 'site.banyan.io/rack': 'b' },
        targetLabels: {},
      },
    ]);
    expect(refused).toEqual({
      count: 3,
      sample: ['label clearance=top', 'label of a SyncTarget env=stage', 'property threat.level=low'],
    });
  });

  it('is everything if all is allowed, and is encoded like the summary that arrived', () => {
    const summary = oneSet({ labels: { env: 'prod', ...ofEu }, properties: {}, targetLabels: { env: 'test' } });
    const { summary: kept, refused } = allowed(summary);
    expect(refused).toEqual({ count: 0, sample: [] });
    expect(Buffer.from(encodeLabelSummary(kept)).toString()).toBe(Buffer.from(encodeLabelSummary(summary)).toString());
  });

  it('has what the parent itself gave the subtree', () => {
    const bounds = boundsOf(claims, { 'labels/region': ['eu'], 'properties/power': ['40'] });
    const { summary, refused } = allowed(oneSet({ labels: { region: 'eu' }, properties: { power: '40' } }), bounds);
    expect(summary.sets).toMatchObject([{ labels: { region: 'eu' }, properties: { power: '40' } }]);
    expect(refused.count).toBe(0);
    expect(allowed(oneSet({ labels: { region: 'us' } }), bounds).refused.sample).toEqual(['label region=us']);
  });

  it('has the path of the certificate, whatever the child says, also with open claims', () => {
    const lie = { 'tree.banyan.io/1': 'us', 'tree.banyan.io/path': 'us.vault', 'tree.banyan.io/x': 'y' };
    const { summary, refused } = allowed(oneSet({ labels: lie }), boundsOf(openClaims));
    expect(summary.sets).toMatchObject([{ labels: ofEu }]);
    expect(refused.sample).toEqual([
      'label tree.banyan.io/1=us',
      'label tree.banyan.io/path=us.vault',
      'label tree.banyan.io/x=y',
    ]);
    const honest = { ...ofEu, 'tree.banyan.io/2': 'paris', 'tree.banyan.io/path': 'eu.paris' };
    expect(allowed(oneSet({ labels: honest }), boundsOf(openClaims)).refused.count).toBe(0);
    const keyed = allowed(byKey({ 'tree.banyan.io/1': complete({ us: 400 }) }), boundsOf(openClaims)).summary;
    expect(keyed.keys).toEqual({ 'tree.banyan.io/1': complete({ eu: 400 }) });
  });

  it('keeps a key that no line names out, if the line has no values', () => {
    const open: SubtreeClaims = { labels: { '*': ['*'], clearance: [] }, properties: {} };
    expect(allowed(oneSet({ labels: { any: 'thing', clearance: 'top' } }), boundsOf(open)).refused.sample).toEqual([
      'label clearance=top',
    ]);
  });

  it('has only the allowed values of a key, in a summary by key', () => {
    const { summary, refused } = allowed(
      byKey({ env: complete({ prod: 3, stage: 5 }), clearance: complete({ top: 400 }) }),
    );
    expect(summary.keys).toEqual({ env: complete({ prod: 3 }), 'tree.banyan.io/1': complete({ eu: 400 }) });
    expect(refused.sample).toEqual(['label clearance', 'label clearance=top', 'label env=stage']);
  });
});

describe('a placement', () => {
  it('does not reach a child by a label beyond its claims', () => {
    const lie = oneSet({ labels: { env: 'prod', clearance: 'top' } });
    expect(matches(label('clearance', 'top'), lie)).toBe(false);
    expect(matches(label('env', 'prod'), lie)).toBe(true);
  });

  it('does not reach a child that says that a key has too many values', () => {
    const lie = byKey({ clearance: unlisted(400), env: unlisted(400), 'tree.banyan.io/path': unlisted(400) });
    expect(matches(label('clearance', 'top'), lie)).toBe(false);
    expect(matches(requiring({ key: 'clearance', operator: 'Exists' }), lie)).toBe(false);
    expect(matches(label('env', 'prod'), lie)).toBe(true);
    expect(matches(label('env', 'secret'), lie)).toBe(false);
    expect(matches(label('tree.banyan.io/path', 'us.vault'), lie)).toBe(false);
    expect(matches(label('tree.banyan.io/path', 'eu.paris'), lie)).toBe(true);
    expect(matches(where('location.metadata.labels.env == "secret"'), lie)).toBe(false);
    expect(matches(where('location.metadata.labels.env == "prod"'), lie)).toBe(true);
  });

  it('does not reach a child that says that it has more keys than it names', () => {
    const lie = byKey({}, { moreKeys: true });
    expect(matches(label('clearance', 'top'), lie)).toBe(false);
    expect(matches(label('env', 'prod'), lie)).toBe(true);
    expect(matches(label('env', 'secret'), lie)).toBe(false);
    expect(matches(requiring({ key: 'clearance', operator: 'DoesNotExist' }), lie)).toBe(true);
  });

  it('does not reach a child that leaves out all properties', () => {
    for (const lie of [oneSet({ labels: {} }), { leaves: 400, keys: {} }]) {
      expect(matches(where('properties["threat.level"] == "low"'), lie)).toBe(false);
      expect(matches(where('syncTarget.metadata.labels.clearance == "top"'), lie)).toBe(false);
      expect(matches(where('double(properties["carbon.gPerKWh"]) < 10.0'), lie)).toBe(true);
    }
  });

  it('does not reach a child by a path outside the child', () => {
    const set = oneSet({ labels: {}, properties: {}, targetLabels: {} });
    const lie = byKey({ env: unlisted(400) });
    for (const summary of [set, lie]) {
      expect(matches(where('path == "us:vault"'), summary, boundsOf(openClaims))).toBe(false);
      expect(matches(where('path.startsWith("us:")'), summary, boundsOf(openClaims))).toBe(false);
      expect(matches(where('path in ["us:vault", "eu-west:till"]'), summary, boundsOf(openClaims))).toBe(false);
      expect(matches(where('path != "us:vault" && path.startsWith("eu:paris:")'), summary, boundsOf(openClaims))).toBe(
        true,
      );
      expect(matches(where('path == "eu:till" || path == "us:till"'), summary, boundsOf(openClaims))).toBe(true);
      expect(matches(where('!path.startsWith("eu")'), summary, boundsOf(openClaims))).toBe(false);
      expect(matches(where('path.endsWith("till")'), summary, boundsOf(openClaims))).toBe(true);
    }
  });
});
