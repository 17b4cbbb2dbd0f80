/** `center.retail/shop-prod`: a placement wherever it has arrived. Names hold no slash, so the text splits one way only. */
export type PlacementId = string;

export function placementId(source: string, name: string): PlacementId {
  return `${source}/${name}`;
}

export function splitPlacementId(id: PlacementId): { source: string; name: string } {
  const slash = id.indexOf('/');
  return { source: id.slice(0, slash), name: id.slice(slash + 1) };
}
