//! Long parts in rows, like lines of text.
//!
//! The layers of a part are cut into *bands*, which are drawn one below the other. Each band is
//! laid out on its own. Lines that leave it end at ports on its left or right border. Outside of
//! the bands, they run in lanes: vertical ones left and right of all bands, and horizontal ones
//! between two bands. So no line passes through an item or a label.

use super::graph::{Part, Ports};
use super::routes::GAP;
use super::sides::PAD;
use crate::geometry::{Point, Side, Size};
use crate::layout::scope::{CLEARANCE, LANE, Laid, Line, Port, STUB, Scope};
use rustc_hash::FxHashMap;

/// Smallest width of bands. The others are larger by powers of [`STEP`], so that one more layer
/// rarely changes the width.
const NARROWEST: f64 = 320.0;
const STEP: f64 = std::f64::consts::SQRT_2;
/// Wished ratio of width to height, at least.
const WISHED: f64 = 1.4;
/// Part of a band in which it may end, at the gap with the fewest lines.
const RAGGED: f64 = 0.3;
/// Space between two bands without lines.
const BETWEEN: f64 = 2.0 * CLEARANCE;

/// Estimated sizes of the layers of a part, before their contents are ordered.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Width of each layer of items, with the gap behind it.
    widths: Vec<f64>,
    heights: Vec<f64>,
    /// Number of lines that pass the gap before each layer.
    passing: Vec<usize>,
    /// Layer of each item of the part. The first layer of items is 0.
    layer: Vec<usize>,
}

impl Estimate {
    /// `layer` has the layers of the items, followed by those of the border ports.
    pub(super) fn new(scope: &Scope, ports: &Ports, part: &Part, layer: &[usize]) -> Estimate {
        let layer = &layer[..part.items.len()];
        let first = layer.iter().min().copied().unwrap_or(0);
        let layer: Vec<usize> = layer.iter().map(|l| l - first).collect();
        let count = layer.iter().max().map_or(0, |l| l + 1);
        let mut reach = vec![[0.0_f64; 2]; count];
        let mut heights = vec![0.0; count];
        for (&item, &layer) in part.items.iter().zip(&layer) {
            let size = scope.items[item];
            heights[layer] += size.height + CLEARANCE;
            for &port in &ports.of[item] {
                let of = &scope.ports[port];
                let room = match () {
                    () if of.label.width > 0.0 => of.label.width + 2.0 * PAD,
                    () if of.stub => STUB + PAD,
                    () => 0.0,
                };
                let side = usize::from(ports.hand[port] == Side::Right);
                reach[layer][side] = reach[layer][side].max(size.width / 2.0 + room);
            }
            for reach in &mut reach[layer] {
                *reach = reach.max(size.width / 2.0);
            }
        }
        // Changes of the number of passing lines from a gap to the next.
        let mut changes = vec![0_isize; count + 1];
        for &line in &part.lines {
            let ends = [scope.lines[line].from, scope.lines[line].to];
            let layers = ends.map(|port| {
                let item = part.items.binary_search(&scope.ports[port].item?);
                item.ok().map(|item| layer[item])
            });
            if let [Some(a), Some(b)] = layers {
                changes[a.min(b) + 1] += 1;
                changes[a.max(b) + 1] -= 1;
            }
        }
        let mut sum = 0;
        let passing = changes[..count].iter().map(|change| {
            sum += change;
            sum.unsigned_abs()
        });
        Estimate {
            passing: passing.collect(),
            widths: reach.iter().map(|[a, b]| a + b + GAP).collect(),
            heights,
            layer,
        }
    }

    /// Returns the size without bands.
    pub(super) fn size(&self) -> Size {
        let height = self.heights.iter().copied().fold(0.0, f64::max);
        Size::new(self.widths.iter().sum(), height)
    }

    /// Returns the first layer of each band whose width is at most `most` if its layers allow it.
    fn cut(&self, most: f64) -> Vec<usize> {
        let count = self.widths.len();
        let mut firsts = vec![0];
        let (mut first, mut width) = (0, 0.0);
        let mut layer = 0;
        while layer < count {
            if layer > first && width + self.widths[layer] > most {
                // The last of the gaps with the fewest lines, not too far from the end.
                let mut best = layer;
                let mut at = layer;
                let mut left = width;
                while at > first + 1 {
                    at -= 1;
                    left -= self.widths[at];
                    if left < most * (1.0 - RAGGED) {
                        break;
                    }
                    if self.passing[at] < self.passing[best] {
                        best = at;
                    }
                }
                firsts.push(best);
                (first, width, layer) = (best, 0.0, best);
            }
            width += self.widths[layer];
            layer += 1;
        }
        firsts
    }

    /// Returns the estimated size of bands.
    fn of_bands(&self, firsts: &[usize]) -> Size {
        let mut size = Size::default();
        for (band, &first) in firsts.iter().enumerate() {
            let end = firsts.get(band + 1).copied().unwrap_or(self.widths.len());
            let width: f64 = self.widths[first..end].iter().sum();
            size.width = size.width.max(width);
            size.height += self.heights[first..end].iter().copied().fold(0.0, f64::max);
            if band > 0 {
                size.height += BETWEEN + LANE * self.passing[first] as f64;
            }
        }
        size
    }

    /// Returns the first layers of bands, for pictures from the widest whose estimated ratio is not
    /// below the wished one to the narrowest.
    pub(super) fn cuts(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let mut most = NARROWEST;
        loop {
            let size = self.of_bands(&self.cut(most));
            if size.width >= WISHED * size.height || most > self.size().width {
                break;
            }
            most *= STEP;
        }
        let widths = std::iter::successors(Some(most), |most| Some(most / STEP));
        widths.map(|most| self.cut(most))
    }
}

/// A band: the scope of its items, in which lines to other bands end at the border.
#[derive(Debug, Default)]
struct Band {
    scope: Scope,
    /// Port of the scope around each port of an item.
    ports: Vec<Option<usize>>,
    /// Layers of the items, from 0.
    layer: Vec<usize>,
}

/// A place where lines reach the border of a band: the band, and the port on its border.
type Gate = (usize, usize);

/// A line in a band: the band, and the line in its scope.
type Piece = (usize, usize);

/// Lines to other bands that share an end: a port of an item, or a port on the border of the part.
#[derive(Debug)]
struct Net {
    /// Gate of the shared end. `None` for a port on the border of the part.
    own: Option<Gate>,
    /// Side of the bands on which the shared end is.
    side: Side,
    /// Gates of the other ends, by band and side.
    taps: Vec<((usize, Side), Gate)>,
    /// Height of the shared end.
    level: f64,
    /// Horizontal lanes: number of the channel, and height. At most one above and one below the
    /// shared end.
    runs: Vec<(usize, f64)>,
    /// Position of the vertical lanes, left and right of the bands.
    lanes: [f64; 2],
}

/// A line between two bands, or between a band and the border of the part.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    line: usize,
    net: usize,
    tap: usize,
    /// True if the shared end is the writer.
    leaves: bool,
    /// Lines in the bands of the shared end and the other end, each with its band.
    pieces: [Option<Piece>; 2],
}

fn index(side: Side) -> usize {
    usize::from(side == Side::Right)
}

/// A part in bands.
pub(super) struct Sheet<'a> {
    scope: &'a Scope,
    ports: &'a Ports,
    part: &'a Part,
    bands: Vec<Band>,
    /// Band, and number in the band, of each item of the part.
    home: Vec<(usize, usize)>,
    nets: Vec<Net>,
    crossings: Vec<Crossing>,
    /// Lines within bands: the line, the band, and the number in it.
    inner: Vec<(usize, usize, usize)>,
}

impl<'a> Sheet<'a> {
    /// Returns the bands of a part. `firsts` are their first layers. Returns `None` if ports on the
    /// border have no lines or are joined to each other.
    pub(super) fn new(
        scope: &'a Scope,
        ports: &'a Ports,
        part: &'a Part,
        estimate: &Estimate,
        firsts: &[usize],
    ) -> Option<Sheet<'a>> {
        let is_border = |port: usize| scope.ports[port].item.is_none();
        let between = |&line: &usize| {
            let line = scope.lines[line];
            is_border(line.from) && is_border(line.to)
        };
        if part.lines.iter().any(between) || part.borders.iter().any(|&p| ports.lines[p] == 0) {
            return None;
        }
        let mut bands: Vec<Band> = firsts.iter().map(|_| Band::default()).collect();
        let mut inside: FxHashMap<usize, usize> = FxHashMap::default();
        let mut home = Vec::with_capacity(part.items.len());
        for (&item, &layer) in part.items.iter().zip(&estimate.layer) {
            let index = firsts.partition_point(|&first| first <= layer) - 1;
            let band = &mut bands[index];
            let number = band.scope.items.len();
            home.push((index, number));
            band.scope.items.push(scope.items[item]);
            band.layer.push(layer - firsts[index]);
            for &port in &ports.of[item] {
                inside.insert(port, band.ports.len());
                band.ports.push(Some(port));
                band.scope.ports.push(Port {
                    item: Some(number),
                    ..scope.ports[port]
                });
            }
        }
        let mut sheet = Sheet {
            scope,
            ports,
            part,
            bands,
            home,
            nets: Vec::new(),
            crossings: Vec::new(),
            inner: Vec::new(),
        };
        sheet.connect(&inside);
        Some(sheet)
    }

    /// Returns the band of a port of an item.
    fn band(&self, port: usize) -> Option<usize> {
        let item = self.scope.ports[port].item?;
        let item = self.part.items.binary_search(&item).ok()?;
        Some(self.home[item].0)
    }

    /// Adds a port on the border of a band.
    fn gate(&mut self, band: usize, side: Side) -> Gate {
        let of = &mut self.bands[band];
        of.ports.push(None);
        of.scope.ports.push(Port {
            item: None,
            side,
            offset: None,
            label: Size::default(),
            stub: false,
        });
        (band, of.scope.ports.len() - 1)
    }

    /// Adds a line in a band.
    fn piece(&mut self, band: usize, from: usize, to: usize) -> Piece {
        let lines = &mut self.bands[band].scope.lines;
        lines.push(Line { from, to });
        (band, lines.len() - 1)
    }

    /// Adds all lines. `inside` are the numbers of the ports of items in their bands.
    fn connect(&mut self, inside: &FxHashMap<usize, usize>) {
        // Nets and their lines in the bands of the shared ends, by the shared port and by the
        // direction of its line.
        let mut known: FxHashMap<(usize, bool), (usize, Option<Piece>)> = FxHashMap::default();
        let mut taps: FxHashMap<(usize, usize, Side), usize> = FxHashMap::default();
        for &line in &self.part.lines {
            let Line { from, to } = self.scope.lines[line];
            let bands = [self.band(from), self.band(to)];
            if let [Some(a), Some(b)] = bands
                && a == b
            {
                let (band, number) = self.piece(a, inside[&from], inside[&to]);
                self.inner.push((line, band, number));
                continue;
            }
            let leaves = match bands {
                [None, _] => true,
                [_, None] => false,
                _ => self.ports.lines[from] >= self.ports.lines[to],
            };
            let (hub, far) = if leaves { (from, to) } else { (to, from) };
            let band = self.band(hub);
            let key = (hub, leaves || band.is_none());
            let (net, own) = match known.get(&key) {
                Some(net) => *net,
                None => {
                    let net = self.nets.len();
                    let hand = self.ports.hand[hub];
                    let side = match band {
                        Some(_) => hand,
                        None => hand.opposite(),
                    };
                    let own = band.map(|band| self.gate(band, side));
                    let piece = own.map(|(band, gate)| match leaves {
                        true => self.piece(band, inside[&hub], gate),
                        false => self.piece(band, gate, inside[&hub]),
                    });
                    self.nets.push(Net {
                        own,
                        side,
                        taps: Vec::new(),
                        level: 0.0,
                        runs: Vec::new(),
                        lanes: [0.0; 2],
                    });
                    known.insert(key, (net, piece));
                    (net, piece)
                }
            };
            let Some(band) = self.band(far) else {
                continue;
            };
            let side = self.ports.hand[far];
            let tap = match taps.get(&(net, band, side)) {
                Some(tap) => *tap,
                None => {
                    let gate = self.gate(band, side);
                    self.nets[net].taps.push(((band, side), gate));
                    let tap = self.nets[net].taps.len() - 1;
                    taps.insert((net, band, side), tap);
                    tap
                }
            };
            let (_, (_, gate)) = self.nets[net].taps[tap];
            let piece = match leaves {
                true => self.piece(band, gate, inside[&far]),
                false => self.piece(band, inside[&far], gate),
            };
            self.crossings.push(Crossing {
                line,
                net,
                tap,
                leaves,
                pieces: [own, Some(piece)],
            });
        }
    }

    /// Lays out the bands with a function that gets a scope, its ports, its part, and the layers of
    /// its items and border ports.
    pub(super) fn place(
        mut self,
        lay_out: impl Fn(&Scope, &Ports, &Part, Vec<usize>, &mut Laid) -> Size,
    ) -> Placed<'a> {
        let drawn: Vec<(Laid, Size)> = self
            .bands
            .iter()
            .map(|band| band.draw(self.ports, &lay_out))
            .collect();
        let is_left = |port: &Port| port.item.is_none() && port.side == Side::Left;
        let has_left = |band: &Band| band.scope.ports.iter().any(is_left);
        // Bands without lines from the left begin where the first items of the others do.
        let indented = self.bands.iter().any(has_left);
        let indent = |band: &Band| {
            if indented && !has_left(band) {
                GAP
            } else {
                0.0
            }
        };
        let widths = drawn.iter().zip(&self.bands);
        let width = widths
            .map(|((_, size), band)| size.width + indent(band))
            .fold(0.0, f64::max);

        self.choose_channels();
        let mut users: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.bands.len()];
        for (number, net) in self.nets.iter().enumerate() {
            for (run, (channel, _)) in net.runs.iter().enumerate() {
                users[*channel].push((number, run));
            }
        }
        let mut tops = Vec::with_capacity(drawn.len());
        let mut y = 0.0;
        for ((_, size), users) in drawn.iter().zip(&users) {
            tops.push(y);
            y += size.height + BETWEEN + LANE * users.len().saturating_sub(1) as f64;
        }
        let last = drawn.len() - 1;
        let height = tops[last] + drawn[last].1.height;
        let level = |(band, port): Gate| tops[band] + drawn[band].0.ports[port].y;

        for net in &mut self.nets {
            let first = net.taps.iter().find(|((_, side), _)| *side == net.side);
            let own = net.own.or(first.map(|(_, gate)| *gate));
            net.level = own.map_or(f64::NAN, level);
        }
        for (channel, users) in users.iter_mut().enumerate() {
            // The end at the right decides. Lines from above turn left the
            // lower the higher they come from.
            let middle = tops[channel] + drawn[channel].1.height;
            let key = |&(net, _): &(usize, usize)| {
                let net: &Net = &self.nets[net];
                let taps = net
                    .taps
                    .iter()
                    .filter(|((_, side), _)| *side == Side::Right);
                let own = net.own.filter(|_| net.side == Side::Right);
                let right = own
                    .or(taps.map(|(_, gate)| *gate).next())
                    .map_or(0.0, level);
                (right <= middle, right)
            };
            users.sort_by(|a, b| {
                let (a, b) = (key(a), key(b));
                b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
            });
            for (place, &(net, run)) in users.iter().enumerate() {
                let net = &mut self.nets[net];
                let y = middle + CLEARANCE + LANE * place as f64;
                net.runs[run].1 = y;
                if net.level.is_nan() {
                    net.level = y;
                }
            }
        }
        let mut counts = [0; 2];
        let mut lanes = vec![[0; 2]; self.nets.len()];
        for side in [Side::Left, Side::Right] {
            let spans = self.nets.iter().map(|net| net.span(side, level)).collect();
            let of_side = nested(spans, &tops);
            for (lanes, lane) in lanes.iter_mut().zip(of_side) {
                lanes[index(side)] = lane;
                counts[index(side)] = lane.max(counts[index(side)]);
            }
        }
        let margin = counts.map(|count| match count {
            0 => 0.0,
            _ => CLEARANCE + LANE * f64::from(count),
        });
        let right = margin[0] + width;
        for (net, lanes) in self.nets.iter_mut().zip(&lanes) {
            let away = lanes.map(|lane| CLEARANCE + LANE * (f64::from(lane) - 1.0));
            net.lanes = [margin[0] - away[0], right + away[1]];
        }
        let origins: Vec<Point> = self
            .bands
            .iter()
            .zip(&tops)
            .map(|(band, top)| Point::new(margin[0] + indent(band), *top))
            .collect();
        Placed {
            size: Size::new(right + margin[1], height),
            sheet: self,
            drawn: drawn.into_iter().map(|(laid, _)| laid).collect(),
            origins,
        }
    }

    /// Chooses a channel next to the shared end of each net for the taps above it, and for those
    /// below.
    fn choose_channels(&mut self) {
        let last = self.bands.len() - 2;
        for net in &mut self.nets {
            let others = net.taps.iter().filter(|((_, side), _)| *side != net.side);
            let mut channels: Vec<usize> = match net.own {
                Some((band, _)) => others
                    .map(|((far, _), _)| if *far > band { band } else { band - 1 })
                    .collect(),
                None => others
                    .map(|((far, _), _)| (*far).min(last))
                    .take(1)
                    .collect(),
            };
            channels.sort_unstable();
            channels.dedup();
            net.runs = channels.into_iter().map(|channel| (channel, 0.0)).collect();
        }
    }
}

/// Bands that have positions.
pub(super) struct Placed<'a> {
    pub(super) size: Size,
    sheet: Sheet<'a>,
    drawn: Vec<Laid>,
    /// Upper left corner of each band.
    origins: Vec<Point>,
}

impl Placed<'_> {
    /// Writes the positions of the part, relative to its upper left corner.
    pub(super) fn write(&self, laid: &mut Laid) {
        let (sheet, drawn, origins) = (&self.sheet, &self.drawn, &self.origins);
        for (&item, &(band, number)) in sheet.part.items.iter().zip(&sheet.home) {
            laid.items[item] = origins[band] + drawn[band].items[number];
        }
        for (band, of) in sheet.bands.iter().enumerate() {
            for (inner, port) in of.ports.iter().enumerate() {
                if let Some(port) = *port {
                    laid.ports[port] = origins[band] + drawn[band].ports[inner];
                    laid.labels[port] = origins[band] + drawn[band].labels[inner];
                }
            }
        }
        let piece = |(band, line): Piece| -> Vec<Point> {
            let points = drawn[band].lines[line].iter();
            points.map(|point| origins[band] + *point).collect()
        };
        for &(line, band, number) in &sheet.inner {
            laid.lines[line] = piece((band, number));
        }
        for crossing in &sheet.crossings {
            let net = &sheet.nets[crossing.net];
            let edge = match net.side {
                Side::Right => self.size.width,
                _ => 0.0,
            };
            let [own, far] = crossing.pieces.map(|of| of.map(piece).unwrap_or_default());
            // From the shared end to the other.
            let mut points = own;
            if !crossing.leaves {
                points.reverse();
            }
            if points.is_empty() {
                points.push(Point::new(edge, net.level));
                let line = sheet.scope.lines[crossing.line];
                let hub = if crossing.leaves { line.from } else { line.to };
                laid.ports[hub] = points[0];
            }
            let ((band, side), _) = net.taps[crossing.tap];
            let mut rest = far;
            if !crossing.leaves {
                rest.reverse();
            }
            let end = rest[0].y;
            if side == net.side {
                if (end - net.level).abs() > f64::EPSILON {
                    let x = net.lanes[index(side)];
                    points.extend([Point::new(x, net.level), Point::new(x, end)]);
                }
            } else {
                let run = net.runs.iter().find(|(channel, _)| match net.own {
                    Some((own, _)) => (*channel >= own) == (band > own),
                    None => true,
                });
                let y = run.map_or(net.level, |(_, y)| *y);
                let x = [index(net.side), index(side)].map(|side| net.lanes[side]);
                points.extend([
                    Point::new(x[0], net.level),
                    Point::new(x[0], y),
                    Point::new(x[1], y),
                    Point::new(x[1], end),
                ]);
            }
            points.extend(rest);
            if !crossing.leaves {
                points.reverse();
            }
            points.dedup();
            laid.lines[crossing.line] = points;
        }
    }
}

impl Net {
    /// Returns the extent of the vertical lane on a side, or `None` if the net needs no lane there.
    fn span(&self, side: Side, level: impl Fn(Gate) -> f64) -> Option<[f64; 2]> {
        let taps = self.taps.iter().filter(|((_, of), _)| *of == side);
        let taps = taps.map(|(_, gate)| level(*gate));
        let runs = self.runs.iter().map(|(_, y)| *y);
        let own = (self.side == side).then_some(self.level);
        let mut span = [f64::INFINITY, f64::NEG_INFINITY];
        for y in taps.chain(runs).chain(own) {
            span = [span[0].min(y), span[1].max(y)];
        }
        (span[0] < span[1]).then_some(span)
    }
}

impl Band {
    fn draw(
        &self,
        around: &Ports,
        lay_out: impl Fn(&Scope, &Ports, &Part, Vec<usize>, &mut Laid) -> Size,
    ) -> (Laid, Size) {
        let mut ports = Ports::new(&self.scope);
        for (hand, port) in ports.hand.iter_mut().zip(&self.ports) {
            if let Some(port) = *port {
                *hand = around.hand[port];
            }
        }
        let borders = (0..self.ports.len()).filter(|&port| self.ports[port].is_none());
        let part = Part {
            items: (0..self.scope.items.len()).collect(),
            borders: borders.collect(),
            lines: (0..self.scope.lines.len()).collect(),
        };
        let is_left = |&port: &usize| self.scope.ports[port].side == Side::Left;
        let first = usize::from(part.borders.iter().any(is_left));
        let last = self.layer.iter().max().map_or(0, |l| l + 1);
        let items = self.layer.iter().map(|layer| first + layer);
        let borders = part.borders.iter();
        let borders = borders.map(|port| if is_left(port) { 0 } else { first + last });
        let layer = items.chain(borders).collect();
        let mut laid = Laid::of(&self.scope);
        let size = lay_out(&self.scope, &ports, &part, layer, &mut laid);
        (laid, size)
    }
}

/// Returns the number of the lane of each span, from 1 beside the bands, 0 without a span. Spans in
/// the same band or channel have different lanes, and short ones are inside of long ones. `tops`
/// are the upper ends of the bands.
fn nested(spans: Vec<Option<[f64; 2]>>, tops: &[f64]) -> Vec<u32> {
    let mut order: Vec<(f64, usize, [f64; 2])> = Vec::new();
    for (net, span) in spans.iter().enumerate() {
        if let Some([top, bottom]) = *span {
            order.push((bottom - top, net, [top, bottom]));
        }
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut lanes = vec![0; spans.len()];
    // Last lane beside each band and the channel below it.
    let mut used = vec![0; tops.len()];
    for (_, net, span) in order {
        let [first, last] = span.map(|y| tops.partition_point(|&top| top <= y).saturating_sub(1));
        let of_span = &mut used[first..=last];
        let lane = of_span.iter().copied().max().unwrap_or(0) + 1;
        of_span.fill(lane);
        lanes[net] = lane;
    }
    lanes
}
