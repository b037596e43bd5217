//! The Snapshot Matrix: what is read, written and cleared, and rebuilds.

use super::*;

impl Oracle {
    /// Rows are read as they are before the writes of the cycle.
    pub(super) fn check_reads(&mut self, tap: &Tap) {
        for read in &tap.reads {
            let row = self.row((read.bank as u64, read.row.into()));
            let Some(miss) = self.misses[read.sm].get_mut(&read.id) else {
                self.report(Rule::Filter, read.sm, Some(read.id), None, "a row is read for no miss");
                continue;
            };
            let (tag, expected) = (miss.tag, miss.positions[read.position]);
            if miss.rows[read.position].replace(row).is_some() {
                self.report(Rule::Filter, read.sm, Some(read.id), Some(tag), format!("position {} is read twice", read.position));
            }
            if (expected.bank, expected.row) != (read.bank as u64, u64::from(read.row)) {
                let what = format!("position {} reads bank {} row {} instead of {expected:?}", read.position, read.bank, read.row);
                self.report(Rule::Filter, read.sm, Some(read.id), Some(tag), what);
            }
        }
    }

    pub(super) fn row(&self, (bank, row): (u64, u64)) -> SmSet {
        self.matrix[(bank * u64::from(self.config.rows()) + row) as usize]
    }

    pub(super) fn check_debug(&mut self, inputs: &Signals, outputs: &Signals) {
        if !self.config.debug_port || !self.tapped {
            return;
        }
        let valid = outputs.get(output::DEBUG_VALID, 0) != 0;
        let words = outputs.words(output::DEBUG_ROW).to_vec();
        let shown = SmSet::from_words(&words);
        if valid != self.debug_row.is_some() || shown != self.debug_row.unwrap_or(SmSet::EMPTY) {
            self.report(Rule::Filter, 0, None, None, format!("the debug port shows {shown:?} instead of {:?}", self.debug_row));
        }
        let taken = inputs.get(input::DEBUG_VALID, 0) != 0 && outputs.get(output::DEBUG_READY, 0) != 0;
        let index = inputs.get(input::DEBUG_INDEX, 0);
        let rows = 1 << self.config.row_bits();
        self.debug_row = taken.then(|| self.row((index / rows, index % rows)));
    }

    /// Fill notices, refresh requests and the stream.
    pub(super) fn check_refresh(&mut self, inputs: &Signals, outputs: &Signals, tap: Option<&Tap>) {
        let flush = inputs.get(input::FLUSH, 0) != 0;
        for sm in 0..self.misses.len() {
            if outputs.get(output::REFRESH_VALID, sm) != 0 {
                let (since, broken) = *self.requested[sm].get_or_insert((self.cycle, false));
                if inputs.get(input::REFRESH_READY, sm) != 0 {
                    let regular = !broken && self.cycle < since + u64::from(self.config.stream_timeout);
                    self.streams[sm] = Some(OpenStream { active: self.cycle, regular });
                    self.requested[sm] = None;
                }
            }
            if flush {
                self.requested[sm] = self.requested[sm].map(|(since, _)| (since, true));
            }
            let noticed = inputs.get(input::FILL_VALID, sm) != 0 && outputs.get(output::FILL_READY, sm) != 0;
            let dropped = tap.is_some_and(|tap| tap.dropped.contains(sm));
            self.count("dropped_fills", u64::from(dropped));
            if dropped && !(noticed && self.config.fill_drop) {
                self.report(Rule::Rebuild, sm, None, None, "a notice is dropped that must not be");
            }
            if noticed && !dropped && !flush {
                let tag = inputs.get(input::FILL_TAG, sm);
                let positions = encode(&self.config, tag);
                let column = &mut self.columns[sm];
                column.allowed.extend(positions.iter().map(|p| (p.bank, p.row)));
                column.fills.push(tag);
                column.latest.push_back(tag);
                if column.latest.len() > self.config.fill_queue_depth as usize {
                    column.latest.pop_front();
                }
            }
        }
        if inputs.get(input::STREAM_VALID, 0) != 0 && outputs.get(output::STREAM_READY, 0) != 0 {
            self.check_beat(inputs, flush, tap);
        }
        if flush {
            self.streams.iter_mut().flatten().for_each(|s| s.regular = false);
        }
    }

    pub(super) fn check_beat(&mut self, inputs: &Signals, flush: bool, tap: Option<&Tap>) {
        let sm = inputs.get(input::STREAM_SM, 0) as usize;
        let last = inputs.get(input::STREAM_LAST, 0) != 0;
        let loaded = tap.is_some_and(|tap| tap.streaming == Some(sm));
        if let Some(mut stream) = self.streams[sm] {
            let in_time = self.cycle <= stream.active + u64::from(self.config.stream_timeout);
            if tap.is_some() && stream.regular && in_time && !loaded {
                self.report(Rule::Rebuild, sm, None, None, "a beat of a rebuild is not loaded");
            }
            stream.active = self.cycle;
            stream.regular &= in_time;
            self.streams[sm] = (!last).then_some(stream);
        }
        if !loaded || flush {
            return;
        }
        for place in 0..self.config.stream_tags() as usize {
            if inputs.get(input::STREAM_KEEP, place) != 0 {
                let tag = inputs.get(input::STREAM_TAG, place);
                let positions = encode(&self.config, tag);
                self.columns[sm].streamed.push(tag);
                self.columns[sm].allowed.extend(positions.iter().map(|p| (p.bank, p.row)));
            }
        }
    }

    pub(super) fn check_writes(&mut self, tap: &Tap) {
        let first_row = tap.writes.iter().find(|w| !w.value && w.row == 0);
        if let Some(clear) = first_row {
            let all = clear.mask.len() > 1;
            clear.mask.iter().for_each(|sm| self.clear_column(sm, all));
        }
        for write in &tap.writes {
            for sm in write.mask.iter() {
                let position = (write.bank as u64, u64::from(write.row));
                let row = &mut self.matrix[write.bank * self.config.rows() as usize + write.row as usize];
                if !write.value {
                    row.remove(sm);
                    continue;
                }
                row.insert(sm);
                if !self.columns[sm].allowed.contains(&position) {
                    self.report(Rule::Rebuild, sm, None, None, format!("bank {} row {} is set for no line", write.bank, write.row));
                }
            }
        }
        if let Some(sm) = tap.rebuilt {
            self.count("rebuilds", 1);
            let rows = u64::from(self.config.rows());
            let mut all = (0..u64::from(self.config.banks)).flat_map(|bank| (0..rows).map(move |row| (bank, row)));
            let allowed = &self.columns[sm].allowed;
            if let Some((bank, row)) = all.find(|p| self.row(*p).contains(sm) && !allowed.contains(p)) {
                let what = format!("after a rebuild, bank {bank} row {row} is set for no line");
                self.report(Rule::Rebuild, sm, None, None, what);
            }
        }
    }

    /// A column begins to be cleared. By now every older tag of it is written, but for notices that wait.
    pub(super) fn clear_column(&mut self, sm: usize, all: bool) {
        let waiting = self.config.fill_queue_depth as usize;
        let column = &self.columns[sm];
        let mut required = Vec::new();
        if !all {
            required.extend(&column.streamed);
            required.extend(&column.fills[..column.fills.len().saturating_sub(waiting)]);
        }
        let unset = |tag: &&u64| encode(&self.config, **tag).iter().any(|p| !self.row((p.bank, p.row)).contains(sm));
        if let Some(&tag) = required.iter().find(unset) {
            self.report(Rule::Rebuild, sm, None, Some(tag), "the line is not in its column");
        }
        let latest: Vec<u64> = self.columns[sm].latest.iter().copied().collect();
        let positions = latest.iter().flat_map(|tag| encode(&self.config, *tag)).map(|p| (p.bank, p.row)).collect();
        let column = &mut self.columns[sm];
        (column.allowed, column.fills) = (positions, Vec::new());
        column.streamed.clear();
    }
}
